// Sleeps until a word in memory changes.
#ifndef ASHLAR_RUNTIME_CPU_FUTEX_H_
#define ASHLAR_RUNTIME_CPU_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace ashlar::cpu {

// Sleeps while `word` is `value`, until woken. May wake spuriously.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t value);

// Wakes up to `count` threads that sleep on `word`, which may already be destroyed.
void FutexWake(const std::atomic<uint32_t>& word, int count);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FUTEX_H_
