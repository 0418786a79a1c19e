// Sleeping until a word in memory changes.
#ifndef ASHLAR_RUNTIME_CPU_FUTEX_H_
#define ASHLAR_RUNTIME_CPU_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace ashlar::cpu {

// Sleeps while `word` is `value`, until it is woken. May wake without reason.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t value);

// Wakes up to `count` threads that sleep on `word`, which need not exist any more.
void FutexWake(const std::atomic<uint32_t>& word, int count);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FUTEX_H_
