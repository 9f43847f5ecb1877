import torch


class Model(torch.nn.Module):
    """One new token attends to what is cached, in bfloat16."""

    def forward(self, q, k, v):
        scores = (q.unsqueeze(1).float() @ k.float().transpose(1, 2)) * q.shape[-1] ** -0.5
        return (torch.softmax(scores, dim=-1) @ v.float()).squeeze(1).bfloat16()


def get_inputs():
    q = 3 * torch.randn(16, 64)
    k, v = torch.randn(2, 16, 1024, 64)
    return [q.bfloat16(), k.bfloat16(), v.bfloat16()]


def get_init_inputs():
    return []
