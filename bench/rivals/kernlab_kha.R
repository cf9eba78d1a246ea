# The kernel Hebbian algorithm of R's kernlab on a file of plain numbers; seconds and versions as JSON on standard output.
#
#   Rscript kernlab_kha.R POINTS START END ROWS FEATURES COMPONENTS PASSES SIGMA ETA
#
# START gets the random start coefficients that kernlab draws, END its components, both in double precision.
suppressMessages(library(kernlab))
given <- commandArgs(trailingOnly = TRUE)
number <- function(at) as.numeric(given[at])
n <- number(4); d <- number(5); r <- number(6)
x <- matrix(readBin(given[1], "numeric", n * d, size = 4), n, d, byrow = TRUE)

# kha draws runif(r * n) first of all, so the same seed gives the same numbers here.
set.seed(1)
start <- matrix(runif(r * n), n, r) * 2 - 1
writeBin(as.vector(start), given[2])

set.seed(1)
began <- proc.time()[["elapsed"]]
# A threshold of zero is never reached: exactly as many passes as asked for.
found <- kha(x, kernel = "rbfdot", kpar = list(sigma = number(8)), features = r, eta = number(9), th = 0,
             maxiter = number(7))
seconds <- proc.time()[["elapsed"]] - began
writeBin(as.vector(pcv(found)), given[3])
cat(sprintf('{"seconds": %.3f, "versions": {"R": "%s.%s", "kernlab": "%s"}}\n', seconds, R.version$major,
            R.version$minor, as.character(packageVersion("kernlab"))))
