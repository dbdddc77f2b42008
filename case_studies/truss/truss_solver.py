"""A stand-alone finite-element program for plane trusses: no imports but the standard library.

Usage: ``python truss_solver.py truss.inp truss.out``

The input file has one item per line, in any order; ``#`` begins a comment::

    material  1e4  0.1          Young's modulus, density
    buckling  4                 coefficient k of the Euler stress k E A / L^2 (optional)
    node      1    720  360     number, x, y
    bar       1    5  3  20.0   number, first node, second node, area
    fix       5    xy           node, directions that a support holds: x, y or xy
    load      2    0  -100      node, force in x, force in y

The output file has ``mass``, ``compliance``, ``largest_stress`` and ``largest_displacement``, then
a line for each node (displacements in x and y) and each bar (length, force, stress, and its
compression as a fraction of the Euler stress; tension is positive, a bar in tension has a negative
fraction). Units are those of the input.

Exit codes: 0 done, 1 the input cannot be read, 2 this truss cannot be computed (a mechanism, a bar
without length). The reason goes to standard error.
"""

import math
import sys

LEAST_PIVOT = 1e-10  # of a stiffness matrix with ones on its diagonal
SHORTEST = 1e-9  # length of a bar over the size of the truss


class InputError(Exception):
    """The input file is wrong."""


class TrussError(Exception):
    """The truss has no answer."""


class Truss:
    """What the input file says."""

    def __init__(self):
        self.young = self.density = None
        self.buckling = 0.0
        self.nodes, self.bars, self.fixed, self.loads = {}, {}, set(), {}


# -- input -----------------------------------------------------------------------------------


def read_truss(text):
    """Return the truss of an input file."""
    truss = Truss()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            _read_line(truss, words[0], words[1:])
        except (ValueError, IndexError, KeyError) as error:
            raise InputError(f"line {number}: cannot read {line.strip()!r} ({error})") from None
    _check(truss)
    return truss


def _read_line(truss, keyword, words):
    if keyword == "material":
        truss.young, truss.density = _positive(words[0]), _positive(words[1])
    elif keyword == "buckling":
        truss.buckling = _positive(words[0])
    elif keyword == "node":
        _new(truss.nodes, int(words[0]), (_finite(words[1]), _finite(words[2])))
    elif keyword == "bar":
        _new(truss.bars, int(words[0]), (int(words[1]), int(words[2]), _positive(words[3])))
    elif keyword == "fix":
        if words[1] not in ("x", "y", "xy"):
            raise ValueError("directions are x, y or xy")
        truss.fixed.update((int(words[0]), "xy".index(axis)) for axis in words[1])
    elif keyword == "load":
        _new(truss.loads, int(words[0]), (_finite(words[1]), _finite(words[2])))
    else:
        raise ValueError("unknown keyword")


def _new(items, number, item):
    if number in items:
        raise ValueError(f"number {number} is there already")
    items[number] = item


def _finite(word):
    value = float(word)
    if not math.isfinite(value):
        raise ValueError("a finite number is needed")
    return value


def _positive(word):
    value = _finite(word)
    if value <= 0:
        raise ValueError("a positive number is needed")
    return value


def _check(truss):
    if truss.young is None:
        raise InputError("there is no line 'material'")
    if not truss.bars:
        raise InputError("there are no bars")
    used = [(f"bar {b}", n) for b, bar in truss.bars.items() for n in bar[:2]]
    used += [("a support", n) for n, _ in truss.fixed] + [("a load", n) for n in truss.loads]
    for what, node in used:
        if node not in truss.nodes:
            raise InputError(f"{what} is at node {node}, which is not there")


# -- solution --------------------------------------------------------------------------------


def solve_truss(truss):
    """Return the displacements by node, and (length, force, stress, buckling) by bar."""
    directions = _directions(truss)
    free = [(n, axis) for n in truss.nodes for axis in (0, 1) if (n, axis) not in truss.fixed]
    stiffness = _stiffness(truss, directions, {dof: i for i, dof in enumerate(free)})
    loads = [truss.loads.get(n, (0.0, 0.0))[axis] for n, axis in free]
    moved = _solve(stiffness, loads, free)
    u = {n: [0.0, 0.0] for n in truss.nodes}
    for (n, axis), value in zip(free, moved, strict=True):
        u[n][axis] = value
    answers = {}
    for b, (i, j, area) in truss.bars.items():
        length, cx, cy = directions[b]
        stress = truss.young * ((u[j][0] - u[i][0]) * cx + (u[j][1] - u[i][1]) * cy) / length
        euler = truss.buckling * truss.young * area / length**2
        answers[b] = (length, stress * area, stress, -stress / euler if euler else 0.0)
    return u, answers


def _directions(truss):
    """Return (length, cosine, sine) by bar."""
    spans = {}
    for b, (i, j, _) in truss.bars.items():
        (xi, yi), (xj, yj) = truss.nodes[i], truss.nodes[j]
        spans[b] = (math.hypot(xj - xi, yj - yi), xj - xi, yj - yi)
    size = max(length for length, _, _ in spans.values())
    for b, (length, _, _) in spans.items():
        if length <= SHORTEST * size:
            i, j, _ = truss.bars[b]
            raise TrussError(f"bar {b} has no length: nodes {i} and {j} are at the same place")
    return {b: (length, dx / length, dy / length) for b, (length, dx, dy) in spans.items()}


def _stiffness(truss, directions, position):
    n = len(position)
    matrix = [[0.0] * n for _ in range(n)]
    for b, (i, j, area) in truss.bars.items():
        length, cx, cy = directions[b]
        ends = [((i, 0), -cx), ((i, 1), -cy), ((j, 0), cx), ((j, 1), cy)]
        held = [(position[dof], c) for dof, c in ends if dof in position]
        for p, cp in held:
            for q, cq in held:
                matrix[p][q] += truss.young * area / length * cp * cq
    return matrix


def _solve(matrix, right, free):
    """Solve by Cholesky's method, scaled to a diagonal of ones."""
    n = len(right)
    for k in range(n):
        if matrix[k][k] <= 0:
            raise TrussError(_mechanism(free[k]))
    scale = [1 / math.sqrt(matrix[k][k]) for k in range(n)]
    lower = [[0.0] * n for _ in range(n)]
    x = [s * r for s, r in zip(scale, right, strict=True)]
    for i in range(n):
        for j in range(i + 1):
            value = matrix[i][j] * scale[i] * scale[j]
            value -= sum(lower[i][k] * lower[j][k] for k in range(j))
            if i == j:
                if value < LEAST_PIVOT:
                    raise TrussError(_mechanism(free[i]))
                lower[i][i] = math.sqrt(value)
            else:
                lower[i][j] = value / lower[j][j]
        x[i] = (x[i] - sum(lower[i][k] * x[k] for k in range(i))) / lower[i][i]
    for i in reversed(range(n)):
        x[i] = (x[i] - sum(lower[k][i] * x[k] for k in range(i + 1, n))) / lower[i][i]
    return [s * v for s, v in zip(scale, x, strict=True)]


def _mechanism(dof):
    return f"the truss is a mechanism: node {dof[0]} can move in {'xy'[dof[1]]} without resistance"


# -- output ----------------------------------------------------------------------------------


def report(truss, u, bars):
    """Return the text of the output file."""
    mass = truss.density * sum(bars[b][0] * bar[2] for b, bar in truss.bars.items())
    work = sum(fx * u[n][0] + fy * u[n][1] for n, (fx, fy) in truss.loads.items())
    lines = [
        f"mass                  {mass!r}",
        f"compliance            {work!r}",
        f"largest_stress        {max(abs(stress) for _, _, stress, _ in bars.values())!r}",
        f"largest_displacement  {max(abs(v) for pair in u.values() for v in pair)!r}",
    ]
    lines += [f"node {n:3d}  {x!r}  {y!r}" for n, (x, y) in sorted(u.items())]
    lines += [f"bar {b:3d}  " + "  ".join(map(repr, bars[b])) for b in sorted(bars)]
    return "\n".join(lines) + "\n"


def main(arguments):
    """Run the program and return its exit code."""
    if len(arguments) != 2:
        print("usage: truss_solver.py INPUT OUTPUT", file=sys.stderr)
        return 1
    try:
        with open(arguments[0], encoding="utf-8") as file:
            truss = read_truss(file.read())
        u, bars = solve_truss(truss)
        with open(arguments[1], "w", encoding="utf-8") as file:
            file.write(report(truss, u, bars))
    except (OSError, UnicodeDecodeError, InputError) as error:
        print(f"truss_solver: {arguments[0]}: {error}", file=sys.stderr)
        return 1
    except TrussError as error:
        print(f"truss_solver: {arguments[0]}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
