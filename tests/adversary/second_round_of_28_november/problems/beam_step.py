import torch


class Model(torch.nn.Module):
    """One step of a beam search: the best continuations of all beams, the beam of each and its token."""

    def forward(self, scores, logits):
        batch, beams, words = logits.shape
        every = scores[:, :, None] + torch.log_softmax(logits, dim=-1)
        best, place = every.reshape(batch, beams * words).topk(beams, dim=-1)
        return best, place // words, place % words


def get_inputs():
    return [-4 * torch.rand(8, 4), torch.randn(8, 4, 4096)]


def get_init_inputs():
    return []
