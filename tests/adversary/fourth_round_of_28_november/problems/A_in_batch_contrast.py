import math

import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Each question's own text against all others of the batch."""

    def __init__(self):
        super().__init__()
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, questions, texts):
        cosines = F.normalize(questions, dim=-1) @ F.normalize(texts, dim=-1).t()
        scores = cosines * self.log_scale.exp()
        return torch.logsumexp(scores, dim=-1) - scores.diagonal()


def get_inputs():
    questions = torch.randn(256, 64)
    return [questions, questions + torch.randn(256, 64)]


def get_init_inputs():
    return []
