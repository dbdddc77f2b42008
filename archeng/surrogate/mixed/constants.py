"""Numbers of the search over mixed designs, each with its meaning."""

SATISFIED = 1e-6  # violation of a row, over the length of its gradient, that repairs take away
QUICK = (15, 1e-6)  # iterations and accuracy of SciPy's SLSQP over the real coordinates ...
PRECISE = (50, 1e-10)  # ... for a design that is simulated
WEIGHT = 20.0  # of the largest violation by models, over the slope of the objective
WEIGHT_MULTIPLIER = 1e6  # largest multiplier that is believed

MOVES = 200  # levels to which one coordinate may jump; of longer lists the nearest ones
PAIR_MOVES = 1500  # pairs of moves that are looked at, the most promising coordinates first
PAIRS_CLAIMED = 200  # pairs of changes up to which a claim of convergence is about them, too
TRIED = 4  # neighbours whose real coordinates are searched before the next kind of moves
DESCENTS = 20  # steps of one search over the lattice
SEEDS = 2  # simulated designs from which searches begin, beside the relaxation
KICKS = 2  # random changes of the best design from which further searches begin ...
KICKS_ALONE = 10  # ... if nothing is continuous, which makes a search cheap
ENUMERATED = 400  # combinations of levels that are all looked at before a search ends
LAST_LOOK = 15  # times as many before a search ends
KICKED = 3  # coordinates that such a change moves at most

KNOWN = 0.03  # distance from a simulated design within which models are believed
BETTER = 1e-6  # least gain of a step on the lattice, in units of the objective's spread
NEW = 1e-6  # distance from all simulated designs with the same levels, in initial deviations
GAIN = 1e-6  # least gain that is worth a call, relative to the objective
FAR_LOOK = 5  # times as many changes at random where designs far away are looked for
FAR_MOST = 3.0  # usual distances up to which the error of models grows with the distance
FAR_TRIES = 5  # of the best ones until one is new
EXPLORED = 6  # random models whose optimum is simulated, without success, before the end ...
EXPLORED_EACH = 0.5  # ... and for each discrete coordinate
RADIUS_FIRST, RADIUS_LEAST, RADIUS_MOST = 2.0, 0.05, 10.0  # of the trust region, in deviations
RADIUS_WIDER, RADIUS_NARROWER = 1.5, 0.5  # factors after a promise that was kept, or broken
LAST_LOOKS = 3  # designs that a last look may propose without success
LEVELS_SEEN = 3  # levels of a variable with calls from which another one can be predicted
ERRORS = 2.0  # largest leave-one-out errors by which a neighbour not simulated must be worse
MARGIN = 1.0  # leave-one-out errors of a simulated constraint that are kept after a violation
ASIDE = 1e-5  # ... and at least so much of what changes by one coordinate of the models
LEAST_MARGIN = 0.2  # below which none is kept any more
FIBRES = 64  # sets of real variables that are kept compiled
ORDERS = 2.0  # largest over least objective beyond which its logarithm is modelled, too
SPREAD = 0.03  # distance of designs around the best one that models of real variables need ...
SPREAD_APART = 0.3  # ... their least distance from each other, relative to that ...
SPREAD_TRIES = 20  # ... and random directions in which they are looked for, after the axes
