// Measures how much of the processor this process gets.
#ifndef ASHLAR_TOOLS_REPORT_PROCESSOR_SHARE_H_
#define ASHLAR_TOOLS_REPORT_PROCESSOR_SHARE_H_

namespace ashlar {

// Returns the least share of a processor that one of `threads` threads gets when all compute for
// some 50 ms: 1 on an idle machine, less if other programs run or the process is limited.
double ShareOfProcessors(int threads);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_PROCESSOR_SHARE_H_
