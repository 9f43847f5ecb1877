"""PyTorch operators that run a proven kernel, and the original where none was proven.

Lies in every exported package, and needs only Python and torch. An `Operator` registers with `torch.library`

    NAME::problem            inputs and weights to outputs for any call; decides itself what runs
    NAME::problem_saving     forward of a kernel whose gradients were proven, and `NAME::problem_saving_backward`

and makes `Operator.Model`, the original module with the kernels in its forward: eager calls go to the kernel itself,
traced ones to the operators, and calls that no kernel was proven for to the original, which stays open to the compiler.
"""

from .operator import Operator
from .proven import Kernel

__all__ = ["Kernel", "Operator"]
