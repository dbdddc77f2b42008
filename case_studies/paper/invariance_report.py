METHODS = (
    "arch",
    "arch-paper",
    "arch-nearest",
    "mcr",
    "resampling",
    "al",
    "ap-bch",
    "active-set-es",
)


def summary(rows):
    return ""


def figures(rows, out):
    return []
