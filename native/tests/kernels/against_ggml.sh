#!/bin/sh
# dequantize_oracle.py in the oracle environment; leaves with 77 (ctest: skipped) and the reason where there is none.
#   against_ggml.sh [--isas=NAME,...] [EMULATOR...] dequantize_dump
here=$(dirname "$0")
python=$here/../../../.venv/bin/python
if [ ! -x "$python" ]; then
  echo "not available: .venv with NumPy (npm run setup)"
  exit 77
fi
exec "$python" "$here/dequantize_oracle.py" "$@"
