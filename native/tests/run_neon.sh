#!/bin/sh
# Builds the kernel tests for arm64 and runs them in qemu: NEON alone, with dotprod, with i8mm; and compares their
# dequantisation with ggml. Says "not available" and succeeds when the cross compiler or the emulator is missing
# (Debian: apt-get install g++-aarch64-linux-gnu qemu-user).
#   native/tests/run_neon.sh [BUILD_FOLDER]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/native/build-arm64}
for tool in aarch64-linux-gnu-g++ qemu-aarch64 cmake; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "NEON kernels: not available ($tool is missing)"
    exit 0
  fi
done
cmake -S "$root/native/tests/kernels" -B "$build/kernels" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ >/dev/null
cmake --build "$build/kernels" -j 2 >/dev/null
emulate="qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu"
$emulate "$build/kernels/kernels_test"
python=$root/.venv/bin/python
if [ -x "$python" ]; then
  status=0
  "$python" "$root/native/tests/kernels/dequantize_oracle.py" --dump $emulate "$build/kernels/dequantize_dump" || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
else
  echo "dequantisation against ggml: not available (.venv is missing)"
fi
