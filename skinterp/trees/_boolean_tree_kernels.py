"""Kernels that walk a tree while some cells are unknown.

A tree is an int32 table with one line per node (see `TreeTables`). A row is a line of
float32 values, or of codes per used feature: the index of the cell of the threshold
grid that a value falls in, `UNKNOWN`, or `MISSING` for a cell known to be empty.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Singles = NDArray[np.float32]

UNKNOWN = -1
MISSING = -2

# Columns of the node table.
LEFT = 0  # child of small values, -1 at a leaf
RIGHT = 1
COLUMN = 2  # column of X
FEATURE = 3  # position among the used features
CUT = 4  # cells 0..CUT go left
SKIP = 5  # child that scikit-learn sends a missing value to
OPEN = 6  # bit 1: an unknown value may still go left; bit 2: right
LABEL = 7  # majority class of the node
COMMON = 8  # label shared by all leaves that can be reached below, or -1
N_FIELDS = 9


@njit(cache=True, nogil=True)
def analyse_nodes(nodes: Ints, n_cuts: Ints) -> tuple[Ints, Ints, Bools]:
    """Cells that each node leaves open per feature; fills OPEN and COMMON."""
    n_nodes, n_used = nodes.shape[0], n_cuts.shape[0]
    low = np.zeros((n_nodes, n_used), np.int32)
    high = np.empty((n_nodes, n_used), np.int32)
    empty = np.ones((n_nodes, n_used), np.bool_)
    for j in range(n_used):
        high[0, j] = n_cuts[j]
    for i in range(n_nodes):
        left, right = nodes[i, LEFT], nodes[i, RIGHT]
        if left < 0:
            continue
        j, cut = nodes[i, FEATURE], nodes[i, CUT]
        for child in (left, right):
            for f in range(n_used):
                low[child, f] = low[i, f]
                high[child, f] = high[i, f]
                empty[child, f] = empty[i, f]
            empty[child, j] = empty[i, j] and nodes[i, SKIP] == child
        high[left, j] = min(high[i, j], cut)
        low[right, j] = max(low[i, j], cut + 1)
        # A child is open if a value leads there, or the tree's own way for missing
        # values: the path fixes both, whatever the row is.
        nodes[i, OPEN] = 0
        if low[left, j] <= high[left, j] or empty[left, j]:
            nodes[i, OPEN] += 1
        if low[right, j] <= high[right, j] or empty[right, j]:
            nodes[i, OPEN] += 2
    for i in range(n_nodes - 1, -1, -1):  # children come after their parents
        left, right = nodes[i, LEFT], nodes[i, RIGHT]
        if left < 0:
            nodes[i, COMMON] = nodes[i, LABEL]
        elif nodes[i, OPEN] != 3:
            nodes[i, COMMON] = nodes[left if nodes[i, OPEN] == 1 else right, COMMON]
        elif nodes[left, COMMON] == nodes[right, COMMON]:
            nodes[i, COMMON] = nodes[left, COMMON]
        else:
            nodes[i, COMMON] = -1
    return low, high, empty


@njit(cache=True, nogil=True)
def pure_nodes(nodes: Ints) -> Longs:
    """Topmost nodes that can be reached and have one label below them."""
    found = np.empty(nodes.shape[0], np.int64)
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    stack[0] = 0
    size, n_found = 1, 0
    while size > 0:
        size -= 1
        node = stack[size]
        if nodes[node, COMMON] >= 0:
            found[n_found] = node
            n_found += 1
            continue
        if nodes[node, OPEN] & 2:
            stack[size] = nodes[node, RIGHT]
            size += 1
        if nodes[node, OPEN] & 1:
            stack[size] = nodes[node, LEFT]
            size += 1
    return found[:n_found]


@njit(cache=True, nogil=True)
def routed_leaf(row: Singles, nodes: Ints, threshold: Singles) -> int:
    """Leaf that scikit-learn sends a row to."""
    node = 0
    while nodes[node, LEFT] >= 0:
        value = row[nodes[node, COLUMN]]
        if value <= threshold[node]:
            node = nodes[node, LEFT]
        elif value > threshold[node]:
            node = nodes[node, RIGHT]
        else:
            node = nodes[node, SKIP]
    return node


@njit(cache=True, nogil=True)
def decide_rows(X: Singles, nodes: Ints, threshold: Singles) -> tuple[Ints, Bools]:
    """Label of each row, and whether no value of a missing cell could change it.

    An undetermined row gets the label of the leaf that scikit-learn sends it to.
    """
    labels = np.empty(X.shape[0], np.int32)
    determined = np.ones(X.shape[0], np.bool_)
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    for row in range(X.shape[0]):
        node, size, label = 0, 0, -1
        while True:
            # Below a node with COMMON >= 0 nothing can change the answer.
            while nodes[node, COMMON] < 0:
                value = X[row, nodes[node, COLUMN]]
                if value <= threshold[node]:
                    node = nodes[node, LEFT]
                elif value > threshold[node]:
                    node = nodes[node, RIGHT]
                else:  # NaN compares false with everything
                    if nodes[node, OPEN] == 3:
                        stack[size] = nodes[node, RIGHT]
                        size += 1
                    node = nodes[node, RIGHT if nodes[node, OPEN] == 2 else LEFT]
            if label < 0:
                label = nodes[node, COMMON]
            elif label != nodes[node, COMMON]:
                determined[row] = False
                label = nodes[routed_leaf(X[row], nodes, threshold), LABEL]
                break
            if size == 0:
                break
            size -= 1
            node = stack[size]
        labels[row] = label
    return labels, determined


@njit(cache=True, nogil=True)
def average_rows(
    X: Singles, nodes: Ints, threshold: Singles, weight: Floats, value: Floats
) -> Floats:
    """Mean of the class frequencies of the leaves that each row can reach."""
    n_classes = value.shape[1]
    mean = np.zeros((X.shape[0], n_classes))
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    for row in range(X.shape[0]):
        node, size, total, alone = 0, 0, 0.0, True
        while True:
            while nodes[node, LEFT] >= 0:
                cell = X[row, nodes[node, COLUMN]]
                if cell <= threshold[node]:
                    node = nodes[node, LEFT]
                elif cell > threshold[node]:
                    node = nodes[node, RIGHT]
                else:
                    if nodes[node, OPEN] == 3:
                        alone = False
                        stack[size] = nodes[node, RIGHT]
                        size += 1
                    node = nodes[node, RIGHT if nodes[node, OPEN] == 2 else LEFT]
            total += weight[node]
            for c in range(n_classes):
                mean[row, c] += weight[node] * value[node, c]
            if size == 0:
                break
            size -= 1
            node = stack[size]
        for c in range(n_classes):
            # the very number of the leaf where there is only one
            mean[row, c] = value[node, c] if alone else mean[row, c] / total
    return mean


@njit(cache=True, nogil=True)
def known_child(node: int, cell: int, nodes: Ints) -> int:
    """Child for a cell that is not UNKNOWN."""
    if cell == MISSING:
        return nodes[node, SKIP]
    return nodes[node, LEFT if cell <= nodes[node, CUT] else RIGHT]


@njit(cache=True, nogil=True)
def decide_code(code: Ints, nodes: Ints, stack: Ints) -> int:
    """Label of one row of codes, -1 where unknown cells still matter."""
    node, size, label = 0, 0, -1
    while True:
        while nodes[node, COMMON] < 0:
            cell = code[nodes[node, FEATURE]]
            if cell != UNKNOWN:
                node = known_child(node, cell, nodes)
            else:
                if nodes[node, OPEN] == 3:
                    stack[size] = nodes[node, RIGHT]
                    size += 1
                node = nodes[node, RIGHT if nodes[node, OPEN] == 2 else LEFT]
        if label < 0:
            label = nodes[node, COMMON]
        elif label != nodes[node, COMMON]:
            return -1
        if size == 0:
            return label
        size -= 1
        node = stack[size]


@njit(cache=True, nogil=True)
def decide_codes(codes: Ints, nodes: Ints) -> Ints:
    """Label of each row of codes, -1 where unknown cells still matter."""
    labels = np.empty(codes.shape[0], np.int32)
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    for row in range(codes.shape[0]):
        labels[row] = decide_code(codes[row], nodes, stack)
    return labels


@njit(cache=True, nogil=True)
def mark_path(code: Ints, nodes: Ints, on_path: Bools) -> None:
    """Mark the features that a row meets before its first unknown cell."""
    for j in range(on_path.shape[0]):
        on_path[j] = False
    node = 0
    while nodes[node, COMMON] < 0 and code[nodes[node, FEATURE]] != UNKNOWN:
        j = nodes[node, FEATURE]
        on_path[j] = True
        node = known_child(node, code[j], nodes)


@njit(cache=True, nogil=True)
def minimal_reasons(codes: Ints, nodes: Ints, tier: Longs) -> Bools:
    """Which known cells alone decide a row; none where it is undetermined.

    `tier` ranks the features by cost. Costly cells are given up first; among equals
    those off the path of the row go first, then those of later features.
    """
    n_rows, n_used = codes.shape
    keep = np.zeros((n_rows, n_used), np.bool_)
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    on_path = np.empty(n_used, np.bool_)
    tried = np.empty(n_used, np.bool_)
    code = np.empty(n_used, np.int32)
    for row in range(n_rows):
        for j in range(n_used):
            code[j] = codes[row, j]
            tried[j] = False
        if decide_code(code, nodes, stack) < 0:
            continue
        mark_path(code, nodes, on_path)
        for _ in range(n_used):
            j, best = -1, -1
            for other in range(n_used):
                if tried[other]:
                    continue
                rank = 2 * tier[other] + (0 if on_path[other] else 1)
                if rank >= best:
                    j, best = other, rank
            tried[j] = True
            # What can't be given up now can't be later, when fewer cells are left.
            cell = code[j]
            code[j] = UNKNOWN
            if cell != UNKNOWN and decide_code(code, nodes, stack) < 0:
                code[j] = cell
        for j in range(n_used):
            keep[row, j] = code[j] != UNKNOWN
    return keep


@njit(cache=True, nogil=True)
def reached_nodes(code: Ints, nodes: Ints, stack: Ints, reached: Ints) -> int:
    """Fill `reached` with the pure nodes that a row can end in; returns how many."""
    stack[0] = 0
    size, n_reached = 1, 0
    while size > 0:
        size -= 1
        node = stack[size]
        if nodes[node, COMMON] >= 0:
            reached[n_reached] = node
            n_reached += 1
            continue
        cell = code[nodes[node, FEATURE]]
        if cell != UNKNOWN:
            stack[size] = known_child(node, cell, nodes)
            size += 1
            continue
        if nodes[node, OPEN] & 1:
            stack[size] = nodes[node, LEFT]
            size += 1
        if nodes[node, OPEN] & 2:
            stack[size] = nodes[node, RIGHT]
            size += 1
    return n_reached


@njit(cache=True, nogil=True)
def relevant_cells(
    codes: Ints, nodes: Ints, low: Ints, high: Ints, empty: Bools
) -> Bools:
    """Which unknown cells could change the label of a row, the others being right.

    A cell matters if two reachable nodes of different label differ in it alone.
    """
    n_rows, n_used = codes.shape
    relevant = np.zeros((n_rows, n_used), np.bool_)
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    reached = np.empty(nodes.shape[0], np.int32)
    for row in range(n_rows):
        n_reached = reached_nodes(codes[row], nodes, stack, reached)
        for first in range(n_reached):
            a = reached[first]
            for second in range(first):
                b = reached[second]
                if nodes[a, COMMON] == nodes[b, COMMON]:
                    continue
                conflict, count = -1, 0
                for j in range(n_used):
                    if max(low[a, j], low[b, j]) <= min(high[a, j], high[b, j]):
                        continue
                    if empty[a, j] and empty[b, j]:
                        continue
                    conflict = j
                    count += 1
                    if count > 1:
                        break
                if count == 1:
                    relevant[row, conflict] = True
    return relevant


@njit(cache=True, nogil=True)
def tree_order_cost(
    code: Ints, known: Bools, costs: Floats, group: Longs, nodes: Ints, stack: Ints
) -> float:
    """Cost of buying cells in the order of the tree until the row is decided.

    `group` tells the group of each feature, `costs` the cost of each group; all
    features of a group are bought together.
    """
    now = np.empty(code.shape[0], np.int32)
    for j in range(code.shape[0]):
        now[j] = code[j] if known[j] else UNKNOWN
    total, node = 0.0, 0
    while nodes[node, COMMON] < 0:
        j = nodes[node, FEATURE]
        if now[j] == UNKNOWN:
            if decide_code(now, nodes, stack) >= 0:
                return total
            for other in range(code.shape[0]):
                if group[other] == group[j]:
                    now[other] = code[other]
            total += costs[group[j]]
        node = known_child(node, now[j], nodes)
    return total


@njit(cache=True, nogil=True)
def lookahead_costs(
    codes: Ints,
    weight: Floats,
    known: Bools,
    costs: Floats,
    group: Longs,
    nodes: Ints,
) -> Floats:
    """Mean cost of buying each group now and going on in the order of the tree.

    Infinite for groups with nothing to buy.
    """
    n_rows, n_used = codes.shape
    mean = np.full(costs.shape[0], np.inf)
    stack = np.empty(nodes.shape[0] + 1, np.int32)
    after = np.empty(n_used, np.bool_)
    for g in range(costs.shape[0]):
        bought = False
        for j in range(n_used):
            after[j] = known[j] or group[j] == g
            bought = bought or (after[j] and not known[j])
        if not bought:
            continue
        total, mass = 0.0, 0.0
        for row in range(n_rows):
            cost = tree_order_cost(codes[row], after, costs, group, nodes, stack)
            total += weight[row] * cost
            mass += weight[row]
        mean[g] = costs[g] + total / mass
    return mean
