"""Our packages are flat and have plain names: nothing else in the environment may claim them."""

from __future__ import annotations

from importlib.metadata import packages_distributions

OURS = ("agents", "kernelwright", "kernelwright_rt", "services", "storage", "web", "workers")


def test_no_dependency_ships_a_package_named_like_one_of_ours() -> None:
    owners = packages_distributions()
    strangers = {name: sorted(set(owners.get(name, [])) - {"kernelwright"}) for name in OURS}
    assert not {name: found for name, found in strangers.items() if found}
