"""The REST client that the command line uses."""

from services.client.client import Client, Sent

__all__ = ["Client", "Sent"]
