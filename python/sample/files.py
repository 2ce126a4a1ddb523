"""GGUF files written as a stream: the header first, then one tensor at a time with flat memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGUF_DEFAULT_ALIGNMENT, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType
from gguf import GGMLQuantizationType as Ggml

from .ggml import dequantise, row_bytes

_CHUNK_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Entry:
    """One tensor to write: its place in the table and its bytes in pieces."""

    name: str
    shape: tuple[int, ...]
    kind: Ggml
    pieces: Iterable[np.ndarray]

    @property
    def size(self) -> int:
        rows = int(np.prod(self.shape[:-1], dtype=np.int64))
        return rows * row_bytes(self.kind, self.shape[-1])


def write_file(writer: GGUFWriter, target: Path, entries: list[Entry]) -> None:
    """Writes metadata already given to `writer`, the tensor table and all tensors."""
    for entry in entries:
        writer.add_tensor_info(entry.name, entry.shape, np.dtype(np.float32), entry.size, entry.kind)
    writer.write_header_to_file(target)
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    if writer.fout is None:
        raise RuntimeError(f"[sample] write {target}: the writer opened no file")
    out = writer.fout[0]
    writer.write_padding(out, out.tell())
    for entry in entries:
        written = 0
        for piece in entry.pieces:
            out.write(np.ascontiguousarray(piece).data.cast("B"))
            written += piece.nbytes
        if written != entry.size:
            raise RuntimeError(f"[sample] write {entry.name}: got {written} bytes, expected {entry.size}")
        writer.write_padding(out, written, GGUF_DEFAULT_ALIGNMENT)
    writer.close()


def _exact_pieces(kind: Ggml, data: np.ndarray, columns: int) -> Iterator[np.ndarray]:
    packed = data.reshape(-1).view(np.uint8)
    step = max(1, _CHUNK_BYTES // (columns * 4)) * row_bytes(kind, columns)
    for start in range(0, packed.size, step):
        yield dequantise(kind, packed[start : start + step])


def write_exact(source: Path, target: Path) -> None:
    """The same model with every tensor as f32: the yardstick for engines that compute on packed weights."""
    reader = GGUFReader(source)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = GGUFWriter(None, architecture)
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        if key == "general.file_type":
            writer.add_file_type(LlamaFileType.ALL_F32)
        elif field.types[0] == GGUFValueType.ARRAY:
            writer.add_key_value(key, field.contents(), GGUFValueType.ARRAY, field.types[-1])
        else:
            writer.add_key_value(key, field.contents(), field.types[0])
    entries = []
    for tensor in reader.tensors:
        shape = tuple(int(size) for size in reversed(tensor.shape.tolist()))
        if tensor.tensor_type == Ggml.I32:
            entries.append(Entry(tensor.name, shape, Ggml.I32, [tensor.data]))
            continue
        pieces = _exact_pieces(tensor.tensor_type, tensor.data, shape[-1])
        entries.append(Entry(tensor.name, shape, Ggml.F32, pieces))
    write_file(writer, target, entries)
