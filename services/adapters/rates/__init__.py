"""Rate limits that several processes hold together."""
