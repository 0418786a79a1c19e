// Joins the sources of the functions that a program calls into a header and a source file.
#ifndef ASHLAR_CODEGEN_KERNEL_SOURCES_H_
#define ASHLAR_CODEGEN_KERNEL_SOURCES_H_

#include <set>
#include <string>

namespace ashlar {

struct KernelSources {
  std::string header;  // of ashlar_kernels.h
  std::string source;  // of ashlar_kernels.c
};

// Joins the functions with these names (CodeCall::name), and the files they include.
KernelSources JoinKernelSources(const std::set<std::string>& names);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_KERNEL_SOURCES_H_
