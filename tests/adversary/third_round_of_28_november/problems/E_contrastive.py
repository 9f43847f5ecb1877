import torch


class Model(torch.nn.Module):
    """Symmetric cross entropy of similarities: row and column of one number belong together."""

    def forward(self, images, texts, scale):
        images = torch.nn.functional.normalize(images, dim=-1)
        texts = torch.nn.functional.normalize(texts, dim=-1)
        scores = scale * images @ texts.T
        labels = torch.arange(scores.shape[0])
        across = torch.nn.functional.cross_entropy(scores, labels)
        return (across + torch.nn.functional.cross_entropy(scores.T, labels)) / 2


def get_inputs():
    return [torch.randn(192, 96), torch.randn(192, 96), 14.3]


def get_init_inputs():
    return []
