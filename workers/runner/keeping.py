"""Does a model hold memory that it has returned, once its caller has let go of it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from workers.ipc.tensors import flatten


def keeps_outputs(model: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    """Whether memory of one call's outputs is there when nobody but the model can hold it."""
    weak = [
        StorageWeakRef(one.untyped_storage())  # type: ignore[no-untyped-call]
        for one in flatten(model(*arguments))
        if one.layout is torch.strided and one.numel()
    ]
    return not all(one.expired() for one in weak)  # type: ignore[no-untyped-call]
