// The sources of the functions that a program calls, joined to a header and a file.
#ifndef ASHLAR_CODEGEN_KERNEL_SOURCES_H_
#define ASHLAR_CODEGEN_KERNEL_SOURCES_H_

#include <set>
#include <string>

namespace ashlar {

struct KernelSources {
  std::string header;  // of ashlar_kernels.h
  std::string source;  // of ashlar_kernels.c
};

// Of the functions with these names (CodeCall::name), and what they include.
KernelSources JoinKernelSources(const std::set<std::string>& names);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_KERNEL_SOURCES_H_
