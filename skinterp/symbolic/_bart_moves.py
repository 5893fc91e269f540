"""The moves on a tree, and the sweeps over a forest that are made of them."""

from __future__ import annotations

import math

from numba import njit

from skinterp.symbolic._bart_kernels import (
    COLUMN,
    CUT,
    DEPTH,
    FREE,
    LANES,
    LEAF,
    LEFT,
    PARENT,
    START,
    STOP,
    Floats,
    Forest,
    Prior,
    Ranks,
    Scratch,
    Table,
    add_predictions,
    add_shares,
    count_nodes,
    draw_column,
    draw_cut,
    free_pair,
    has_leaf_children,
    log_marginal,
    nth_growable,
    nth_prunable,
    partition,
    set_leaf,
    shift_and_sum,
    shift_last,
    sum_left,
)
from skinterp.symbolic._bart_random import (
    Words,
    chi_square,
    integer_below,
    normal,
    uniform,
)

GROW, PRUNE, CHANGE = 0, 1, 2
# bartMachine's shares of the moves
P_GROW = 2.5 / 9
P_PRUNE = 2.5 / 9


@njit(cache=True, nogil=True)
def grow(
    t: int,
    growable: int,
    prunable: int,
    table: Table,
    forest: Forest,
    scratch: Scratch,
    prior: Prior,
    state: Words,
) -> bool:
    """Propose to split a leaf."""
    if growable == 0:
        return False
    nodes, top = forest.nodes[t], forest.top[t]
    values, total, residual = forest.values, scratch.total, forest.residual
    s = nth_growable(nodes, integer_below(state, growable), prior.min_leaf)
    start, stop = nodes[s, START], nodes[s, STOP]
    rows = forest.order[t, start:stop]
    j = draw_column(table, rows, state)
    left = free_pair(nodes, top)
    if j < 0 or left < 0:
        return False
    ranks = table.ranks[j]
    tied = table.n_distinct[j] < len(residual)
    cut = draw_cut(ranks, tied, rows, scratch, state)
    n_left, sum_of_left = sum_left(ranks, cut, rows, residual)
    n, value = stop - start, values[t, s]
    if min(n_left, n - n_left) < prior.min_leaf:
        return False
    sum_of_right = total[s] - sum_of_left
    sigma2, variance = forest.sigma2[0], prior.leaf_variance
    parent = nodes[s, PARENT]
    after = prunable + 1 - int(parent >= 0 and has_leaf_children(nodes, parent))
    p_grow = 1.0 if top == 1 else P_GROW
    log_ratio = (
        log_marginal(n_left, sum_of_left + n_left * value, sigma2, variance)
        + log_marginal(
            n - n_left, sum_of_right + (n - n_left) * value, sigma2, variance
        )
        - log_marginal(n, total[s] + n * value, sigma2, variance)
        + prior.log_grow[nodes[s, DEPTH]]
        + math.log(P_PRUNE * growable / (p_grow * after))
    )
    if math.log(1.0 - uniform(state)) >= log_ratio:
        return False
    partition(ranks, cut, rows, scratch.rows, forest.leaf_of[t], left)
    nodes[s, COLUMN], nodes[s, CUT], nodes[s, LEFT] = j, cut, left
    set_leaf(nodes, left, s, start, start + n_left)
    set_leaf(nodes, left + 1, s, start + n_left, stop)
    values[t, left] = values[t, left + 1] = value
    total[left], total[left + 1] = sum_of_left, sum_of_right
    forest.top[t] = max(top, left + 2)
    return True


@njit(cache=True, nogil=True)
def prune(
    t: int,
    growable: int,
    prunable: int,
    forest: Forest,
    scratch: Scratch,
    prior: Prior,
    state: Words,
) -> bool:
    """Propose to make a node with two leaf children a leaf."""
    nodes, values, total = forest.nodes[t], forest.values, scratch.total
    s = nth_prunable(nodes, integer_below(state, prunable))
    left, right = nodes[s, LEFT], nodes[s, LEFT] + 1
    start, middle, stop = nodes[s, START], nodes[right, START], nodes[s, STOP]
    n_left, n_right = middle - start, stop - middle
    value, other = values[t, left], values[t, right]
    sigma2, variance = forest.sigma2[0], prior.leaf_variance
    sum_left_ = total[left] + n_left * value
    sum_right = total[right] + n_right * other
    before = growable + 1
    before -= int(n_left >= 2 * prior.min_leaf) + int(n_right >= 2 * prior.min_leaf)
    p_grow = 1.0 if s == 0 else P_GROW
    log_ratio = (
        log_marginal(n_left, sum_left_, sigma2, variance)
        + log_marginal(n_right, sum_right, sigma2, variance)
        - log_marginal(n_left + n_right, sum_left_ + sum_right, sigma2, variance)
        + prior.log_grow[nodes[s, DEPTH]]
        + math.log(P_PRUNE * before / (p_grow * prunable))
    )
    if math.log(1.0 - uniform(state)) >= -log_ratio:
        return False
    order, leaf_of = forest.order[t], forest.leaf_of[t]
    residual, top = forest.residual, forest.top
    for k in range(start, stop):
        leaf_of[order[k]] = s
    for k in range(middle, stop):
        # one value for the whole leaf
        residual[order[k]] += other - value
    nodes[s, COLUMN] = LEAF
    nodes[left, COLUMN] = nodes[right, COLUMN] = FREE
    values[t, s] = value
    total[s] = total[left] + total[right] + n_right * (other - value)
    while top[t] > 1 and nodes[top[t] - 1, COLUMN] == FREE:
        top[t] -= 2
    return True


@njit(cache=True, nogil=True)
def change(
    t: int,
    prunable: int,
    table: Table,
    forest: Forest,
    scratch: Scratch,
    prior: Prior,
    state: Words,
) -> bool:
    """Propose another test in a node with two leaf children."""
    nodes, order = forest.nodes[t], forest.order[t]
    values, total, residual = forest.values, scratch.total, forest.residual
    s = nth_prunable(nodes, integer_below(state, prunable))
    left, right = nodes[s, LEFT], nodes[s, LEFT] + 1
    start, middle, stop = nodes[s, START], nodes[right, START], nodes[s, STOP]
    rows = order[start:stop]
    j = draw_column(table, rows, state)
    ranks = table.ranks[j]
    tied = table.n_distinct[j] < len(residual)
    cut = draw_cut(ranks, tied, rows, scratch, state)
    n0, sum0 = sum_left(ranks, cut, order[start:middle], residual)
    n1, sum1 = sum_left(ranks, cut, order[middle:stop], residual)
    n, n_left = stop - start, n0 + n1
    if min(n_left, n - n_left) < prior.min_leaf:
        return False
    value, other = values[t, left], values[t, right]
    old_left = total[left] + (middle - start) * value
    old_right = total[right] + (stop - middle) * other
    new_left = sum0 + n0 * value + sum1 + n1 * other
    new_right = old_left + old_right - new_left
    sigma2, variance = forest.sigma2[0], prior.leaf_variance
    log_ratio = (
        log_marginal(n_left, new_left, sigma2, variance)
        + log_marginal(n - n_left, new_right, sigma2, variance)
        - log_marginal(middle - start, old_left, sigma2, variance)
        - log_marginal(stop - middle, old_right, sigma2, variance)
    )
    if math.log(1.0 - uniform(state)) >= log_ratio:
        return False
    # rows of both leaves mix: take out what each was given
    for k in range(start, stop):
        residual[order[k]] += value if k < middle else other
    partition(ranks, cut, rows, scratch.rows, forest.leaf_of[t], left)
    nodes[s, COLUMN], nodes[s, CUT] = j, cut
    nodes[left, STOP] = nodes[right, START] = start + n_left
    values[t, left] = values[t, right] = 0.0
    total[left], total[right] = new_left, new_right
    return True


@njit(cache=True, nogil=True)
def move_tree(
    t: int,
    table: Table,
    forest: Forest,
    scratch: Scratch,
    prior: Prior,
    state: Words,
) -> None:
    """Propose one move, and accept it or not."""
    top, counts = forest.top[t], forest.counts
    growable, prunable = count_nodes(forest.nodes[t], top, prior.min_leaf)
    u = 0.0 if top == 1 else uniform(state)
    if u < P_GROW:
        kind = GROW
        done = grow(t, growable, prunable, table, forest, scratch, prior, state)
    elif u < P_GROW + P_PRUNE:
        kind = PRUNE
        done = prune(t, growable, prunable, forest, scratch, prior, state)
    else:
        kind = CHANGE
        done = change(t, prunable, table, forest, scratch, prior, state)
    counts[kind, 0] += 1
    counts[kind, 1] += done


@njit(cache=True, nogil=True)
def draw_values(
    t: int, forest: Forest, scratch: Scratch, prior: Prior, state: Words
) -> None:
    """Draw the values of the leaves, and note what their rows are to be given."""
    nodes, values = forest.nodes[t], forest.values[t]
    total_of, shift = scratch.total, scratch.shift
    sigma2 = forest.sigma2[0]
    for s in range(forest.top[t]):
        if nodes[s, COLUMN] == LEAF:
            n = nodes[s, STOP] - nodes[s, START]
            total = total_of[s] + n * values[s]
            variance = 1.0 / (n / sigma2 + 1.0 / prior.leaf_variance)
            drawn = variance * total / sigma2 + math.sqrt(variance) * normal(state)
            shift[s] = values[s] - drawn
            values[s] = drawn


@njit(cache=True, nogil=True)
def sweep(
    table: Table, forest: Forest, scratch: Scratch, prior: Prior, state: Words
) -> None:
    """Update each tree in turn, then sigma."""
    leaf_of, residual, tops = forest.leaf_of, forest.residual, forest.top
    sums, totals, shift = scratch.sums, scratch.total, scratch.shift
    n_trees, n = leaf_of.shape
    shift[: tops[n_trees - 1]] = 0.0  # nothing is due at first
    before = n_trees - 1
    for t in range(n_trees):
        top = tops[t]
        for s in range(top):
            for lane in range(LANES):
                sums[s, lane] = 0.0
        shift_and_sum(
            residual,
            leaf_of[before],
            shift,
            leaf_of[t],
            sums,
        )
        for s in range(top):
            total = 0.0
            for lane in range(LANES):
                total += sums[s, lane]
            totals[s] = total
        move_tree(t, table, forest, scratch, prior, state)
        draw_values(t, forest, scratch, prior, state)
        before = t
    squares = shift_last(residual, leaf_of[before], shift)
    if prior.draw_sigma:
        forest.sigma2[0] = (prior.freedom * prior.scale + squares) / chi_square(
            state, prior.freedom + n
        )


@njit(cache=True, nogil=True)
def run_sweeps(
    table: Table,
    forest: Forest,
    scratch: Scratch,
    prior: Prior,
    state: Words,
    n_sweeps: int,
) -> None:
    """Sweep, and keep nothing."""
    for _ in range(n_sweeps):
        sweep(table, forest, scratch, prior, state)


@njit(cache=True, nogil=True)
def run_draws(
    table: Table,
    forest: Forest,
    scratch: Scratch,
    prior: Prior,
    state: Words,
    sigma: Floats,
    shares: Floats,
    left_over: Floats,
    new_ranks: Ranks,
    predictions: Floats,
) -> None:
    """Sweep once per entry of ``sigma``, and add up what each draw says."""
    for k in range(len(sigma)):
        sweep(table, forest, scratch, prior, state)
        sigma[k] = math.sqrt(forest.sigma2[0])
        add_shares(forest.nodes, forest.top, shares)
        for i in range(len(left_over)):
            left_over[i] += forest.residual[i]
        if len(predictions) > 0:
            add_predictions(new_ranks, forest.nodes, forest.values, predictions)
