"""Which cards of a node a process uses, from what nvidia-smi and the driver say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.domain.errors import ConfigurationError, InfrastructureError, SandboxError
from workers.devices import cards
from workers.devices.cards import Gpu, check_present, chosen, on_card, read_gpus, usable_gpus

H100 = "NVIDIA H100 80GB HBM3"


def row(index: int, *, model: str = H100, bus: str = "19", slicing: str = "Disabled") -> list[str]:
    return [str(index), model, "580.1", "9.0", f"GPU-{index}{index}aa-bb", f"00000000:{bus}:00.0", slicing]


def gpu(index: int, **told: str) -> Gpu:
    return read_gpus([row(index, **told)], Path("/nowhere"), Path("/nowhere"))[0]


TWO = (gpu(0), gpu(1))


@pytest.fixture
def node_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes this machine one with the given cards."""

    def make(*gpus: Gpu) -> None:
        monkeypatch.setattr(cards, "all_gpus", lambda: gpus)

    return make


def test_the_driver_says_which_node_belongs_to_a_card(tmp_path: Path) -> None:
    for bus, minor in (("19", 3), ("2d", 1)):
        place = tmp_path / f"0000:{bus}:00.0"
        place.mkdir()
        (place / "information").write_text(f"Model: \t\t {H100}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n")
    first, second = read_gpus([row(0), row(1, bus="2D")], tmp_path, tmp_path)
    assert (first.node.name, second.node.name) == ("nvidia3", "nvidia1")


def test_without_the_driver_s_word_nodes_follow_the_order_of_the_cards(tmp_path: Path) -> None:
    for name in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    first, second = read_gpus([row(0), row(1)], tmp_path, tmp_path / "proc")
    assert (first.node.name, second.node.name) == ("nvidia2", "nvidia10")


def test_cards_are_named_by_index_and_by_the_beginning_of_a_uuid() -> None:
    assert chosen(TWO, "1") == TWO[1:]
    assert chosen(TWO, " GPU-11aa ") == TWO[1:]
    assert chosen(TWO, "1,0") == (TWO[1], TWO[0])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("2", r"KERNELWRIGHT_GPU=2: there is no card 2; this machine has GPU 0 \(NVIDIA H100"),
        ("GPU-99", "there is no card GPU-99"),
        ("GPU-", "begins the UUIDs of 2 cards"),
        ("0,GPU-00", "names a card twice"),
        ("MIG-123", "names a MIG slice: slices share memory bandwidth and clocks"),
        ("h100", "there is no card h100.*as `nvidia-smi -L` prints them"),
    ],
)
def test_a_card_that_is_not_there_is_refused_with_what_is(value: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        chosen(TWO, value)


def test_a_card_split_into_slices_is_named_and_not_used(node_with: Callable[..., None]) -> None:
    sliced = gpu(1, slicing="Enabled")
    node_with(TWO[0], sliced)
    assert usable_gpus({}) == TWO[:1]
    with pytest.raises(ConfigurationError, match=r"GPU 1 .* is split into MIG slices.*nvidia-smi -i 1 -mig 0"):
        usable_gpus({"KERNELWRIGHT_GPU": "1"})


def test_our_own_setting_goes_before_cuda_s(node_with: Callable[..., None]) -> None:
    node_with(*TWO)
    both = {"CUDA_VISIBLE_DEVICES": "0", "KERNELWRIGHT_SANDBOX_GPU": "0", "KERNELWRIGHT_GPU": "1"}
    assert usable_gpus(both) == TWO[1:]
    assert usable_gpus({"CUDA_VISIBLE_DEVICES": "0", "KERNELWRIGHT_SANDBOX_GPU": TWO[1].uuid}) == TWO[1:]
    assert usable_gpus({"CUDA_VISIBLE_DEVICES": "1", "KERNELWRIGHT_GPU": ""}) == TWO[1:]
    assert usable_gpus({}) == TWO


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_cards_can_be_hidden_as_from_any_cuda_program(node_with: Callable[..., None], hidden: str) -> None:
    node_with(*TWO)
    assert usable_gpus({"CUDA_VISIBLE_DEVICES": hidden}) == ()


def test_a_number_that_cuda_may_count_otherwise_is_refused(node_with: Callable[..., None]) -> None:
    mixed = (gpu(0, model="NVIDIA L4"), gpu(1))
    node_with(*mixed)
    with pytest.raises(ConfigurationError, match="ambiguous on a machine with different cards"):
        usable_gpus({"CUDA_VISIBLE_DEVICES": "0"})
    assert usable_gpus({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == mixed[:1]
    assert usable_gpus({"CUDA_VISIBLE_DEVICES": mixed[1].uuid}) == mixed[1:]
    assert usable_gpus({"KERNELWRIGHT_GPU": "0"}) == mixed[:1]


def test_a_machine_without_cards_has_none_to_hide(node_with: Callable[..., None]) -> None:
    node_with()
    assert usable_gpus({"CUDA_VISIBLE_DEVICES": "0"}) == ()
    with pytest.raises(ConfigurationError, match="this machine has no GPU that answers"):
        usable_gpus({"KERNELWRIGHT_GPU": "0"})


def test_what_fails_on_a_card_that_is_gone_says_so_in_one_sentence(smi_says: Callable[[str], None]) -> None:
    card = TWO[0]
    smi_says("Unable to determine the device handle for GPU0: GPU is lost")
    with pytest.raises(InfrastructureError, match=r"^GPU 0 .* is gone: nvidia-smi does not name it any more; .*reset"):
        check_present(card)
    with pytest.raises(InfrastructureError, match="is gone"), on_card(card):
        raise SandboxError("CUDA error: unspecified launch failure")


def test_what_fails_on_a_card_that_is_there_keeps_its_reason(smi_says: Callable[[str], None]) -> None:
    smi_says(TWO[0].uuid)
    with pytest.raises(SandboxError, match="out of memory"), on_card(TWO[0]):
        raise SandboxError("out of memory")
    with pytest.raises(SandboxError, match="no room"), on_card(None):
        raise SandboxError("no room")


def test_where_nvidia_smi_is_missing_no_card_is_said_to_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "SMI_PLACES", ("/nowhere",))
    check_present(TWO[0])
