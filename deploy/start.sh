# The image's entry: numba reads machine code only from a folder that it could write to, so it is copied to memory.
set -eu
[ -d "$NUMBA_CACHE_DIR" ] || cp -r /opt/accord/loops "$NUMBA_CACHE_DIR"
exec accord "$@"
