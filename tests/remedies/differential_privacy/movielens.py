"""Users of MovieLens 1M by gender (F, M) and age (<18, 18-24, 25-34, 35-44, 45-49, 50-55, 56+)."""

import numpy as np

COUNTS = np.array([[78, 298, 558, 338, 189, 146, 102], [144, 805, 1538, 855, 361, 350, 278]])
SIZES = (2, 7)
ROWS = 6040
