# Cross build for 64-bit Arm. It uses Debian's compilers (g++-aarch64-linux-gnu) and its arm64
# libraries, unpacked into a folder (scripts/aarch64_libraries.sh). Programs run under
# qemu-aarch64-static, with that folder's C library: zlib lies beside it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
cmake_path(SET root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root)
set(CMAKE_FIND_ROOT_PATH ${root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)  # protoc and flatc are the host's, in the same versions
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64-static -L ${root}
    -E LD_LIBRARY_PATH=${root}/usr/lib/aarch64-linux-gnu:${root}/lib/aarch64-linux-gnu)
