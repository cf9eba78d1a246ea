"""scikit-image's non-local means, if it is installed; else an answer that says what is missing.

The noise level is given, and of the cut-offs that its documentation uses with a given level the one with the smaller
error is taken: the most that it can be said to do.
"""

import importlib.util
import json

import common
import numpy

CUT_OFFS = (0.6, 0.8)  # in units of the noise level

parser = common.arguments()
parser.add_argument("--noise", type=float, required=True)
parser.add_argument("--clean", required=True, help="file of the picture without noise")
parser.add_argument("--denoised", required=True, help="file for the picture that is found")
options = parser.parse_args()


def answer():
    import skimage
    from skimage.restoration import denoise_nl_means

    def denoised(picture, cut_off):
        return denoise_nl_means(
            picture, h=cut_off * options.noise, sigma=options.noise, fast_mode=True, patch_size=5, patch_distance=6
        )

    noisy, clean = (common.load(path, options.rows, options.features) for path in (options.points, options.clean))
    common.warm_up(lambda points: denoised(points, CUT_OFFS[0]))
    best = None
    for cut_off in CUT_OFFS:
        with common.Measured() as measured:
            found = denoised(noisy, cut_off)
        error = float(((found - clean) ** 2).mean())
        if best is None or error < best[0]:
            best = (error, cut_off, found, measured)
    _, cut_off, found, measured = best
    found.astype(numpy.float32).tofile(options.denoised)
    common.answer(measured, more_versions=[("scikit-image", skimage.__version__)], cut_off=cut_off)


if importlib.util.find_spec("skimage") is None:
    print(json.dumps({"missing": "scikit-image"}))
else:
    answer()
