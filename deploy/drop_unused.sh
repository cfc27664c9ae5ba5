# Removes the files of packages that Accord never reads from the named environment.
set -eu
"$1"/bin/python -m pip uninstall --quiet --yes setuptools pip
cd "$1"/lib/python3*/site-packages
# To test itself, and to compile others against it.
find . -type d -name tests -prune -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.px[di]' -o -name '*.pyx' -o -name '*.a' -o -name '*.h' -o -name '*.hpp' \) -delete
rm -rf pyarrow/include pyarrow/src pyarrow/libarrow_python*.so pyarrow/libarrow_python*.so.*.*
# Tables come from files and databases: no flight server, no store in a cloud.
rm -rf pyarrow/*flight* pyarrow/libarrow_s3.so.* pyarrow/_s3fs.* pyarrow/*_encryption*
