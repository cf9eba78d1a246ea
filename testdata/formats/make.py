"""Makes the files of this folder: the same table as other programs write it.

Needs numpy, pandas, polars and scikit-learn; pillow is not needed, since images are written by hand.
"""

import gzip
import io
import struct
import zlib
from pathlib import Path

import numpy
import pandas
import polars
from sklearn.datasets import dump_svmlight_file

HERE = Path(__file__).parent
ROWS = 12

# Values that are exact in single precision, so that every format holds the same numbers.
t = numpy.arange(ROWS) / 4
values = numpy.column_stack([t, t * t - 2, numpy.where(numpy.arange(ROWS) % 3 == 0, 0.0, 1 - t)])
names = ["x", "y", "z"]
label = ["low" if i < ROWS // 2 else "high" for i in range(ROWS)]
code = [1 if i < ROWS // 2 else 2 for i in range(ROWS)]
ids = [f"row {i}" for i in range(ROWS)]

frame = pandas.DataFrame({"id": ids, **dict(zip(names, values.T)), "half": label})
frame.to_csv(HERE / "pandas.csv", index=False)
frame.to_csv(HERE / "pandas.csv.gz", index=False, compression={"method": "gzip", "mtime": 0})
frame.to_csv(HERE / "semicolon.csv", index=False, sep=";", quoting=1)
table = polars.DataFrame({"id": ids, **dict(zip(names, values.T)), "half": label})
table.write_parquet(HERE / "zstd.parquet")
for codec in ["snappy", "gzip", "lz4", "uncompressed"]:
    table.with_columns(polars.col(names).cast(polars.Float32)).write_parquet(HERE / f"{codec}.parquet", compression=codec)
table.write_parquet(HERE / "brotli.parquet", compression="brotli")
table.with_columns(polars.col("half").cast(polars.Categorical)).write_ipc(HERE / "file.arrow", compression="zstd")
table.write_ipc(HERE / "lz4.arrow", compression="lz4")
table.write_ipc_stream(HERE / "stream.arrows")
table.with_columns(polars.concat_list(names).alias("nested")).write_parquet(HERE / "nested.parquet")

numpy.save(HERE / "c_f8.npy", values)
numpy.save(HERE / "fortran_f4.npy", numpy.asfortranarray(values.astype("<f4")))
numpy.save(HERE / "big_f8.npy", values.astype(">f8"))
numpy.save(HERE / "objects.npy", numpy.array([[1, "a"], [None, 2.5]], dtype=object), allow_pickle=True)
arrays = {"X": values, "half": numpy.array(label), "id": numpy.array(ids, dtype="S")}
numpy.savez(HERE / "stored.npz", **arrays)
numpy.savez_compressed(HERE / "deflated.npz", **arrays)
numpy.savez(HERE / "one.npz", values)
dump_svmlight_file(values, code, str(HERE / "one_based.libsvm"), zero_based=False)
dump_svmlight_file(values, code, str(HERE / "zero_based.libsvm"), zero_based=True, comment="twelve points")

# IDX: four images of 2 x 3 pixels, and their labels.
pixels = (numpy.arange(24) * 11 % 256).astype(numpy.uint8)
images = struct.pack(">HBBIII", 0, 8, 3, 4, 2, 3) + pixels.tobytes()
(HERE / "images-idx3-ubyte").write_bytes(images)
buffer = io.BytesIO()
with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed:
    packed.write(images)
(HERE / "images-idx3-ubyte.gz").write_bytes(buffer.getvalue())
(HERE / "labels-idx1-ubyte").write_bytes(struct.pack(">HBBI", 0, 8, 1, 4) + bytes([7, 8, 7, 9]))


def png(rows, color):
    """The bytes of a PNG file of 8-bit grey or colour pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = len(rows), len(rows[0]) // (3 if color else 1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if color else 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


for folder, files in {"cats": [0, 1], "dogs": [2, 3]}.items():
    (HERE / "images" / folder).mkdir(parents=True, exist_ok=True)
    for i in files:
        rows = pixels[6 * i : 6 * i + 6].reshape(2, 3).tolist()
        (HERE / "images" / folder / f"{i}.png").write_bytes(png(rows, color=False))
(HERE / "images.list").write_text("images/dogs/3.png\nimages/cats/0.png\n")
(HERE / "color.png").write_bytes(png([[255, 0, 0, 0, 255, 0], [0, 0, 255, 9, 9, 9]], color=True))
