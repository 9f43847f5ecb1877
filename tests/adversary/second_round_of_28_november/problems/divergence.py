import torch
from torch.nn import functional


class Model(torch.nn.Module):
    """How far a student's distribution is from a teacher's, both softened by a temperature."""

    def forward(self, student, teacher, temperature=2.0):
        own = functional.log_softmax(student / temperature, dim=-1)
        aim = functional.softmax(teacher / temperature, dim=-1)
        return functional.kl_div(own, aim, reduction="batchmean") * temperature**2


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512), 2.0]


def get_init_inputs():
    return []
