#!/bin/sh
# The CUDA toolkit at /usr/local/cuda, where compilers in a sandbox can see it, made of wheels: install-cuda.sh PYTHON LIST
set -eu
python=$1 list=$2
work=$(mktemp -d)
"$python" -m pip install --no-cache-dir --no-deps --target "$work" --requirement "$list"
mv "$work"/nvidia/cu* /usr/local/cuda
ln -s lib /usr/local/cuda/lib64 # where nvcc.profile looks
tools=$("$python" -c 'import importlib.util as u; print(u.find_spec("triton").submodule_search_locations[0])')/backends/nvidia/bin
cp "$tools/cuobjdump" "$tools/nvdisasm" /usr/local/cuda/bin/
rm -rf "$work"
chmod -R a+rX /usr/local/cuda
/usr/local/cuda/bin/nvcc --version
