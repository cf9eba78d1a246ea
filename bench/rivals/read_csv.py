"""pandas' or polars' reading of a CSV file into an array of doubles."""

import argparse
import io

import common

parser = argparse.ArgumentParser()
parser.add_argument("--file", required=True)
parser.add_argument("--library", required=True, choices=["pandas", "polars"])
options = parser.parse_args()

if options.library == "pandas":
    import pandas as library
else:
    import polars as library

library.read_csv(io.BytesIO(b"a,b\n1,2.5\n")).to_numpy()  # libraries are loaded and threads started
with common.Measured() as measured:
    matrix = library.read_csv(options.file).to_numpy()
versions = {options.library: library.__version__}
common.answer(measured, versions, rows=len(matrix), sums=matrix.sum(axis=0, dtype="float64").tolist())
