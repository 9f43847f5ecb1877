"""Only public addresses pass where the operator forbids private ones, however they are written."""

from __future__ import annotations

import pytest

from services.adapters.llm.addresses import PrivateAddressError, is_public, public_address


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "localhost", "::1", "10.1.2.3", "0.0.0.0"]
)
async def test_every_spelling_of_a_private_address_is_refused(host: str) -> None:
    with pytest.raises(PrivateAddressError, match="operator forbids"):
        await public_address(host)


@pytest.mark.parametrize("host", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
async def test_a_public_address_is_what_gets_connected_to(host: str) -> None:
    assert await public_address(host) == host


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fe80::1", "::ffff:10.0.0.1", "224.0.0.1", "100.64.0.1", "fd00::1"]
)
def test_metadata_link_local_mapped_and_shared_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)
