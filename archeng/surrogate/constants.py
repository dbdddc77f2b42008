"""All numeric constants of the surrogate, in the order of the modules that use them.

*Deviations* are standard deviations of the initial search distribution, the unit of all lengths
around a design. Most values come from studies on `case_studies/`; none is an option.
"""

from __future__ import annotations

import math

import numpy as np

# -- rounds: how far the model is believed ----------------------------------------------------
TRUST_FIRST = 2.0  # Radius of the trust region at first, in deviations
TRUST_LARGEST = 1e3  # Largest radius of the trust region, in deviations
# Radius below which the search around the best design has ended, in deviations
TRUST_COLLAPSED = 1e-7
# Least and largest radius of a region that is opened again after a generation of ARCH
TRUST_REOPENED = (1e-6, 2.0)
TRUST_REOPENED_SPREAD = 2.0  # That radius, in deviations of the present search distribution
# Radius for another search around the best design; it counts as small from there on
TRUST_AGAIN = 1e-2
# Factor of the radius where the model has nothing better, nor a random one that fits as well
TRUST_SHRINK = 0.35
# Factor of the radius after a random design was no better, where no model has a better one
TRUST_SHRINK_SAMPLED = 0.1
TRUST_SHRINK_MISSED = 0.5  # Factor of the radius after the minimum of the model was no better
# In n variables, factors below one are raised to the power (so many) / n, at most 1: one value says
# little about n slopes
TRUST_SLOWER = 10
# Actual over predicted gain above and below which the radius grows and shrinks
TRUST_GOOD, TRUST_POOR = 0.5, 0.1
TRUST_LONGER = 2.5  # Radius after a good step, in lengths of the step
TRUST_SHORTER = 1.5  # What the radius is divided by after a step of little gain ...
TRUST_LONG_STEP = 0.25  # ... if that step was longer than this, in radii
TRUST_INSIDE = 0.05  # A step shorter than this, in radii, ends inside the trust region
# Radii of the regions whose minima are proposed with another one, in its radius
BATCH_RADII = (3.0, 1 / 3)
# Proposals far away that find nothing better, before the region has collapsed; after that there may
# be one more for every two variables, of so many at most
LEAPS = 4
LEAPS_MANY = 40  # Variables that count for these leaps at most
LEAPS_MOST_VARIABLES = 100  # With more there are none: a single one would take minutes

# -- rounds: how many proposals, and when -----------------------------------------------------
# Proposals in a row without improvement that end the longest round; plus one per variable
ROUND_LONGEST = 10
# Share of proposals that have to improve the best design for the next round to be longer
ROUND_PAYS = 0.2
ROUND_LONGEST_REST = 4  # Most generations of ARCH between rounds that do not pay
ROUND_FAILURE = 4  # Misses as which a proposal counts whose simulation failed
PROGRESS_INTERVAL = 5  # Proposals after which the progress is measured
# Progress since then, relative to all of it, below which the next proposal is far away
PROGRESS_SLOW = 0.01
# Gain in a small trust region, relative to the objective, after which it is opened again
PROGRESS_AGAIN = 1e-9
GAIN_NEGLIGIBLE = 1e-12  # Gain that does not count, relative to all progress ...
GAIN_LITTLE = 1e-4  # ... and relative to how much the designs of the model differ
GAIN_ROUNDING = 4  # Gain that is rounding, in spacings of floating-point numbers at the objective
GAIN_MOVES = 1e-2  # Gain by ARCH that widens the trust region, relative to how much designs differ
# Populations of this many default sizes search globally: ARCH is left alone at first ...
GLOBAL_POPULATION = 4
# ... until the median of a generation is this near to the best design, in all progress
GLOBAL_GATHERED = 1e-3
MODEL_NOISY = 1e-2  # Noise of the chosen model above which a search does not end by it

# -- assisted, proposer: which designs --------------------------------------------------------
CALLS_REMEMBERED = 3000  # Calls that models are fitted to at most: the last ones
# Least distance between two of the first designs, in deviations, and sets of directions tried
FIRST_APART, FIRST_TRIES = 0.3, 3
# Feasible designs all over the set from which distant minima of the model are looked for
FAR_DESIGNS = 8
FAR_SPREAD = 3.0  # Standard deviation of these designs before their repair, in deviations
# Range of the weight by which two of them are combined to a further one
FAR_COMBINATION = (-0.5, 1.5)
RANDOM_START = 0.6  # Distance of a random start from the centre, in radii of the trust region
PROPOSAL_NEW = 1e-3  # Least distance of a proposal from all known designs, in lengths of its step
PROPOSAL_SHORTEST = 1e-12  # The same in deviations: what is nearer is rounding
# Score of a model above which designs beyond a cliff of the objective may spoil it
SCORE_POOR = math.log(1e-2)
SCORE_MUCH_BETTER = math.log(10)  # By how much the score of a model without them has to be better
CHOICE_KEPT = 6  # A choice of p designs is kept for 1 + p // this many calls
CONVEX_ROUNDING = 1e-3  # Negative curvature that is rounding, relative to the largest curvature

# -- fence: jumps of the objective -----------------------------------------------------------------
# Designs among which a jump is looked for, in those of a model, and at most
FENCE_DESIGNS, FENCE_MOST = 4, 240
FENCE_RISE = 0.25  # Least height of a jump, in normalised objectives
FENCE_FEWEST = 4  # Designs above it, at least
# How much nearer than usual two of them are to one below it, at least, as a logarithm ...
FENCE_NEARER = math.log(4)
# ... and by which power of that the loss may be smaller there (a kink: 1, a valley: 2)
FENCE_SMALLER = 0.1
FENCE_STEEP = 10.0  # A jump is so many times steeper than what is below it
FENCE_SHARE = 0.15  # How far the fence is from the designs below the jump, in the gap
FENCE_ITERATIONS, FENCE_ACCURACY = 60, 1e-12  # Iterations and accuracy of SciPy's SLSQP

# -- wide: models in many variables --------------------------------------------------------------
# Number of variables from which on these are the models of the objective
WIDE_FROM = 18
# Prior variance of an interaction, relative to that of a diagonal entry of the Hessian
WIDE_MIXED = (1e-5, 1e-2, 1.0)
WIDE_SLOPE = 100.0  # Prior variance of the slopes' part of the values, relative to the Hessian's
WIDE_SHARE = 0.3  # Share of a random deviation in the models that are minimised
WIDE_FEWEST = 4  # Designs that such a model is fitted to, at least
# Designs that it is fitted to at most, for each variable, but not more than so many, ...
WIDE_DESIGNS, WIDE_MOST = 6, 600
WIDE_NET = 1.2  # ... chosen among so many times as many of the nearest ones
WIDE_SLOWER = 20  # What TRUST_SLOWER is for such a model: it does not know all slopes either

# Variables up to which models have interactions; beyond, the Hessian is a diagonal
WIDE_INTERACTING = 300
# To p designs of a model p^3 // this many, but not more than p // so many, are added before others
# are taken around the best one: up to 310 designs none
WIDE_INVERSE, WIDE_KEPT = 30_000_000, 30

# -- valley: scales of the variables ---------------------------------------------------------------
# Steps whose sizes are the scales, beyond two for each variable, and how many times more steps to
# better designs there have to be before they are used
VALLEY_SURPLUS, VALLEY_STEPS = 2, 3
VALLEY_NARROWEST = 1e-2  # Least scale, relative to the largest

# -- data: designs of a model ------------------------------------------------------------------
DATA_GAP = 0.02  # Least distance between two designs, relative to their distance from the centre
DATA_CLOSE = 1e-4  # Designs nearer to the centre than this, in deviations, ...
DATA_ROUNDING = 1e-10  # ... are left out if their objective differs by less than this, relatively
DATA_MOST = 120  # Most designs of a model in many variables
DATA_SURPLUS = 1.2  # Designs of a model in few variables, in coefficients of a quadratic
DATA_HUGE = 1e150  # Objectives beyond this are not used: their squares overflow
# Rank correlation of a teacher's rows with what its models say of them if they are left out, from
# which on it is believed before anything is known of our own function
TEACHER_KNOWS = 0.55
TEACHER_ROWS = 100  # Rows of a teacher that its models are fitted to, at least
# Share of the designs, the better ones, that are left without those beyond a cliff
DATA_TRIMMED = 2 / 3

# -- fit, priors, choice -----------------------------------------------------------------------
FIT_ROUNDING = 1e-12  # Allowed error of every equation, relative to the kernel matrix
# The same at distance one from the centre; it grows with the fourth power of the distance
FIT_FAR = 1e-9
# Prior variance of an entry of the Hessian that is not needed, relative to the largest
FIT_SPARSE = 1e-3
# Entries of the inverse's diagonal below this, relative to the largest, are zero
FIT_SINGULAR = 1e-14
# Relative singular value of steps below which a linear model is undetermined along them
LINEAR_RANK = 1e-10
PRIOR_REMAINDER = 1e-3  # Error at distance one that local priors allow
# Variance of interactions of an additive prior, relative to that of single variables
PRIOR_MIXED = 1e-2
PRIOR_ROUNDS = 2  # How often a sparse prior is reweighted
# Noise that is tried for the best model, as a variance relative to the kernel matrix
PRIOR_NOISES = (1e-4, 1e-2, 1.0)
PRIOR_STEEPNESS = (1.0, 10.0, 1e3, 1e6)  # Steepness of the logarithmic transforms of the objective
TRANSFORM_WIDE = 3.0  # Transforms are tried if the worst normalised objective is above this
# Logarithm and reciprocal of an output are tried if its largest value is so many times its least
TRANSFORM_RANGE = 1.2
# Values and slopes that a model is fitted to at most, and designs beyond the number of variables
HERMITE_ROWS, HERMITE_SURPLUS = 400, 4
SCORE_TIE = 1e-6  # Scores that differ by less are equal but for rounding
# By how much the score of a direct model has to be better than that of a formula of outputs
SCORE_FORMULA = math.log(3)
# By how much the score of a model with a teacher has to be better than that of our own designs
SCORE_TAUGHT = math.log(1.5)
SCORE_TAUGHT_FEW = 1.5  # The same is added over the number of our designs: few may err by chance
SCORE_EXACT = 1e-9  # Errors below this fraction of the spread are not told apart

# -- minimise, curvature: minima of a model over the feasible set ------------------------------
DESCENT_STEPS = 6  # Steps of a search for a minimum ...
DESCENT_FEW = 2  # ... and from a start that seems worse than the one before
# Steps of each stage of a search from many starts, and how many of these go on after it
DESCENT_STAGES = ((1, 10), (1, 5), (2, 3), (2, 1))
# Trials of pull and damping in the first step, and in later ones
DESCENT_TRIALS, DESCENT_FEWER_TRIALS = 6, 4
DESCENT_ENOUGH_TRIALS = 3  # Trials after which any step inside the trust region is taken
DESCENT_ENOUGH = 1e-4  # Gain of a step, relative to all gain so far, at which the search ends ...
# ... and at the edge of the trust region: the minimum of the model is beyond it anyway
DESCENT_ENOUGH_AT_EDGE = 0.2
DESCENT_EDGE = 0.7  # Length of a step that is at the edge, in radii ...
DESCENT_NEARLY = 0.8  # ... and at which it makes use of the region well enough
# Length of a minimum without rows and pull, in radii, beyond which there is a pull from the first
# trial on, with many variables: so far outside more rows are violated than there are variables
DESCENT_FAR = 3.0
DESCENT_RELAX = 8  # What pull and damping are divided by after a step that did not need them
DESCENT_UNDAMPED = 1e-4  # Damping below this is none, relative to the largest curvature
DESCENT_ROUNDING = 1e-14  # Relative gain that is rounding
CURVATURE_FLATTEST = 1e-4  # Least eigenvalue of an approximation, relative to the largest
STEP_LONGEST = 50.0  # A step is never longer than about this, in coordinates of the model
PULL_AIM = 0.92  # Length that the next trial aims at, in radii
PULL_SHORTER = 0.5  # Length of a step over the feasible set, relative to one without rows
PULL_LITTLE = 0.1  # Curvature that does not matter beside the pull, relative to it
PULL_GROWTH = 1.3  # Exponent of the length by which the pull grows after a first trial outside
# Next pull, in units of the last one, as long as all trials are outside ...
PULL_RANGE_OUTSIDE = (1.2, 20.0)
PULL_RANGE_BETWEEN = (1.02, 0.98)  # ... and between trials outside and inside, in units of theirs
# First pulls that are looked at, in units of the largest curvature
PULLS = np.geomspace(1e-6, 1e6, 73)
DAMPING_FIRST = 3e-3  # First damping, relative to the largest curvature
DAMPING_GROWTH = 5.0  # Factor of the damping after a step that does not lower the model ...
DAMPING_OF_PULL = 0.5  # ... and its least value then, relative to the pull

# -- local: the local search -------------------------------------------------------------------
# Radius and resolution of a search that begins far from an optimum, in deviations ...
LOCAL_FIRST = (1.0, 0.1)
LOCAL_CLOSING = (1e-3, 1e-3)  # ... and of one that begins where the proposals have ended
LOCAL_LARGEST = 5.0  # Largest radius, in deviations
LOCAL_FINEST = 2e-5  # Resolution after which there is no finer one, in deviations
EVIDENCE_MOST_VARIABLES = 150  # With more, it takes minutes to say what designs show: not asked
LOCAL_FINER = 0.1  # Factor of the resolution where the models have nothing better ...
LOCAL_SMALLER = 0.2  # ... and of the radius with it
LOCAL_GOOD, LOCAL_POOR = 0.7, 0.1  # Actual over predicted gain of a good and of a poor step
LOCAL_LONGER, LOCAL_SHORTER = 2.0, 0.5  # Radius after a good and a poor step, in lengths of it
LOCAL_NEW = 1e-4  # Least distance of a step from all known designs, in lengths of it
# Radii of the steps that are simulated beside the next one, in its radius ...
COMPANION_RADII = (0.5, 2.0, 0.25, 4.0, 0.1, 8.0)
COMPANION_SPREAD = 0.3  # ... and how far designs are from its end, in its length
COMPANION_TRIES = 2  # Tries for each of these
# Least weight of violations of simulated constraints, in slopes of the objective
LOCAL_WEIGHT = 5.0
# Radius in which models are asked whether the centre is a saddle, in deviations ...
ESCAPE_RADIUS = 0.3
ESCAPE_START = 0.5  # ... from places at this distance, in these radii ...
ESCAPE_STARTS = 4  # ... so many of them ...
ESCAPES = 3  # ... and so many times in a search
# Designs that models of outputs are fitted to for designs far away ...
LEAP_DESIGNS = 200
LEAP_REACH = 2.5  # ... how far, in deviations along each variable: half the width of the bounds ...
LEAP_STARTS = 8  # ... and from how many places
# Margin of a simulated constraint after it was violated, in errors of its prediction ...
MARGIN_SAFE = 1.5
MARGIN_RELAX = 0.5  # ... factor of the margin after it held ...
MARGIN_MOST = 0.25  # ... and the largest margin, relative to the distance between its limits

# -- constrained: the step under simulated constraints -----------------------------------------
SLSQP_ITERATIONS, SLSQP_ACCURACY = 40, 1e-10  # Iterations and accuracy of SciPy's SLSQP
CONSTRAINT_NOISES = (1e-4, 1e-2)  # Noise that is tried for models of simulated constraints
# Least slope by which such a model is scaled, in standard deviations of its values
CONSTRAINT_FLATTEST = 1e-3
VIOLATION_MET = 1e-6  # Violation that is none, in radii
# How often the weight of violations is raised if limits are not met, by which factor, how far
WEIGHT_RAISES, WEIGHT_FACTOR, WEIGHT_HEAVIEST = 2, 10.0, 1e4
WEIGHT_ABOVE = 2.0  # Least weight, in sums of the multipliers
# How often a step by linear models is shortened, and what it is divided by
LINEAR_HALVINGS, LINEAR_SHORTER = 5, 4
# Least margin (a step ends inside, not on the limit) and largest one, in radii
MARGIN_INSIDE, MARGIN_LARGEST = 1e-7, 0.3

# -- first_order, poise, evidence: what speaks for an optimum ----------------------------------
LIMIT_ROOM = 1e-3  # Room of a row, in radii, below which it is at its limit ...
LIMIT_ROOM_MOST = 1e-6  # ... but not more than this, in deviations: margins of repairs, rounding
# Designs count that are at most and at least this far from the centre, in scales
POISE_REACH, POISE_NEAREST = 2.5, 0.08
POISE_LONGEST = 1.9  # Longest step to a design for the geometry, in scales
POISED = 0.15  # Least singular value of well-poised designs
POISE_REACHED = 0.3  # A design helps if it goes this far along its direction, in scales
# Singular values of the equalities below this, relative to the largest, are zero
EQUALITY_DEPENDENT = 1e-9
# Radii around a design in which evidence is looked for, in deviations; on larger ones a model may
# be wrong about its slope
CLAIM_RADII = (1e-3, 1e-4, 1e-5)
CLAIM_RESIDUAL = 1e-4  # Largest residual of an optimum
CLAIM_DOUBT = 3.0  # Largest residual by random models, in those of an optimum
# Random models, and the seed of these and of escapes: the same evidence for the same designs
CLAIM_DRAWS, CLAIM_SEED = 8, 0
CLAIM_WIDER = 30.0  # Designs within this many radii are used first ...
CLAIM_WIDEN = 10  # ... and within so many times more if these are not enough
# Part of the differences between designs that counts as objective: that may be zero
CLAIM_OF_SPREAD = 1e-3
CLAIM_FIRST = 10  # The first 2 n and this many designs say how much objectives differ
# Singular value of unit vectors towards designs below which a direction is not known
CLAIM_SEEN = 1e-2

# -- sensitivity: multipliers ------------------------------------------------------------------
# Designs of its model: those far away know directions that are at a limit here
SENSITIVITY_DESIGNS = 120
# Random models, and their seed: the same report for the same run
SENSITIVITY_DRAWS, SENSITIVITY_SEED = 30, 0
# Directions in which designs vary less than this, relative to the most, are not known
SENSITIVITY_WEAK = 1e-3
# Pieces of the objective that are as large as the largest, in the spread of the objectives
SENSITIVITY_TIE = 1e-4
GRADIENT_DEPENDENT = 1e-10  # Singular values of unit gradients below this are rounding

# Many rows, as the bounds of all variables of a flowsheet.
MANY_ROWS = 1000  # from which on those that turn out to matter are looked for ...
FIRST_ROWS = 100  # ... beginning with so many
ROW_MISSING = 1e-9  # violation of a row that was left out, scaled, from which on it takes part
FAR_ROW = 3.0  # times the reach of a step, beyond which a nonlinear row is left out

# -- regression, noise: values that are not repeatable -------------------------------------------
# Shares of the radial function that are tried, relative to the quadratic one
REGRESSION_SHARES = (1e-3, 1e-2, 0.1, 1.0, 10.0)
# Scales of the function that are tried, relative to that of the noise, and to the values
REGRESSION_RATIOS = np.geomspace(1e-4, 1e10, 57)
REGRESSION_SCALES = np.geomspace(1e-8, 1e4, 49)
REGRESSION_SURPLUS = 3  # Least number of designs, beyond the number of variables ...
# ... and the largest: so many for each coefficient of a quadratic, and two for each variable ...
REGRESSION_PER_COEFFICIENT = 2.0
REGRESSION_MOST = 100, 200  # ... but not fewer and not more than these
REGRESSION_LEAST = 3  # Designs for each variable that are taken whatever their values are
REGRESSION_QUIET = 1e-7  # Least noise of a regression, relative to how much values differ

# -- roughness: whether a simulator looks noisy --------------------------------------------------
ROUGH_LEAST = 4  # Designs beyond the number of variables before anything is said
ROUGH_SAME = 1e-9  # Designs nearer than this are the same, in deviations
ROUGH_CLOSE = 8.0  # Designs are next to the best one so many times nearer than is typical ...
ROUGH_PAIRS = 2  # ... so many of them at least ...
ROUGH_ROUNDING = 1e-9  # ... and differences are felt from this on, relative to the value
# Quotients next to the best design, in the largest ones farther away, that look like noise
ROUGH_STEEP = 2.0
# Models with noise are a reason for doubt after so many calls, and so many for each variable
ROUGH_MANY = 30, 3
# Noise matters if it is known, and designs nearby differ by less than so many deviations of it
NOISE_MATTERS = 10.0
# Repeats that differ by less than this, relative to how much designs nearby differ, are rounding
NOISE_NONE = 1e-6

# -- noisy: the search under noise ---------------------------------------------------------------
NOISY_FIRST = 1.0  # Trust region at first, in deviations ...
NOISY_LARGEST = 4.0  # ... and the largest one, ...
NOISY_BEYOND = 1.5  # ... and in distances of the farthest design of the regression
# Trust region after a value that was not expected, and after one at its edge that was
NOISY_SHORTER, NOISY_LONGER = 0.5, 1.5
NOISY_SURPRISE = 3.0  # A value is not expected so many deviations away
NOISY_EDGE = 0.8  # A step is at the edge of the trust region from so many radii on
NOISY_NEW = 0.05  # Least distance of an expected optimum from all designs, in radii ...
# ... and least gain that it promises inside of the region, in deviations of it
NOISY_PROMISING = 1.0
# In any case it is simulated after so many others, unless it is as near as this, in radii
NOISY_DUE, NOISY_APART = 6, 1e-3
# Estimates are compared with so many of their deviations added
NOISY_CAUTION = 0.5
NOISY_LOOKS = 6  # How often the best design of a run is looked for around the one found before
NOISY_POOL = 12  # Designs among which the one is chosen that tells most ...
NOISY_SPREADS = (1.0, 0.5, 0.25, 0.12)  # ... how far from the expected optimum, in radii ...
NOISY_REACH = 1.2  # (factor of that after one with a value that is not too high)
NOISY_LEVEL = 50.0  # ... and with values expected up to so many deviations of the noise above it
NOISY_AGAIN = 10  # Designs after which the manner of a regression is found out again
NOISY_CHECK = 5  # Designs between looks at what may still be gained, and one for two variables
NOISY_DRAWS = 12  # Random functions that are asked ...
NOISY_LOOK = 2.0  # ... in this trust region
NOISY_SEEN = 0.5  # Gain that cannot be seen, in deviations of the best design's estimate
NOISY_VISIBLE = 0.06  # ... and in deviations of the noise: it takes 500 calls to see that
NOISY_REPEATS = 4  # Repeats of the best design at the end

# -- alike: models of things of one kind, in widths of the bounds ---------------------------------
ALIKE_PAIRS = 2000  # Frequencies of the model of pairs
ALIKE_SINGLES = 128  # Frequencies of the model of single items
# Lengths over which the model of pairs varies, of which the one that predicts best is taken
ALIKE_LENGTHS = (1 / 8, 1 / 16, 1 / 26, 1 / 40, 1 / 60)
ALIKE_SMOOTHER = 4.0  # Length of the model of single items, in lengths of that of pairs
ALIKE_RIDGE = 3e-3  # Variance of the error over that of the function
ALIKE_BLOCK = 256  # Calls after which the model is fitted again
ALIKE_FORGET = 0.94  # Weight of a design after each block
ALIKE_WINDOW = 2048  # Calls by which the length is chosen, at most ...
ALIKE_JUDGED = 0.25  # ... and the share of them, the latest, that is predicted
ALIKE_CHOSEN_AGAIN = 2  # Factor of the calls after which it is chosen again

# -- relocation: one item at a time ---------------------------------------------------------------
RELOCATION_FIRST = 30  # Calls for each item before there is a model
RELOCATION_POOL = 16  # Items, and places of each, that are compared in a generation
RELOCATION_LOCAL = 0.5  # Share of those places that are near the present one
RELOCATION_NEAR = (-4.3, -0.8)  # Decimal logarithms of how near, in widths of the bounds
RELOCATION_EACH = 2  # Places of an item that may be simulated in a generation
RELOCATION_LOOKED_AT = 500  # Moves, the best by the model, of which the feasible ones are simulated
RELOCATION_HALVINGS = 8  # Bisections by which a place is moved back to the feasible set
RELOCATION_INSIDE = 1e-9  # Share of the way by which it then stays inside, for rounding
# Calls for each item without a gain after which a search hops, and for that of the best design
RELOCATION_PATIENCE, RELOCATION_PATIENCE_BEST = 0.25, 0.5
# Gain that counts, in deviations of the first objectives, and for the best design
RELOCATION_GAIN, RELOCATION_GAIN_BEST = 1e-3, 3e-4
RELOCATION_WORSE = 0.03  # Mean loss that a hop may leave, in these deviations
RELOCATION_HOP_AMONG = 6  # Places that the model likes best, to one of which a hop moves an item
RELOCATION_AGAIN = 0.5  # Probability that it moves one more item, and another after that
RELOCATION_HOPS = 500  # Hops without a better design that end a restart
