import torch


class Model(torch.nn.Module):
    """Histogram equalisation of each image of bytes."""

    def forward(self, images):
        flat = images.flatten(1).long()
        counts = torch.zeros(images.shape[0], 256, dtype=torch.int64).scatter_add(1, flat, torch.ones_like(flat))
        upto = counts.cumsum(1)
        total = upto[:, -1:]
        first = torch.where(upto > 0, upto, total).amin(1, keepdim=True)
        table = ((upto - first).clamp(min=0) * 255 // (total - first).clamp(min=1)).to(torch.uint8)
        return table.gather(1, flat).view_as(images)


def get_inputs():
    return [(torch.randn(8, 96, 128) * 30 + 110).clamp(0, 255).to(torch.uint8)]


def get_init_inputs():
    return []
