// An instance of a model: an arena, and sessions for all batch sizes, or all sizes of a family.
#ifndef ASHLAR_LIBRARY_TRITON_INSTANCE_H_
#define ASHLAR_LIBRARY_TRITON_INSTANCE_H_

#include <ashlar/ashlar.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "library/triton/api.h"
#include "library/triton/served_model.h"

namespace ashlar::triton {

class Instance {
 public:
  // The model must outlive it.
  Instance(const ServedModel& model, TRITONBACKEND_ModelInstance* instance);

  // Answers and releases the requests. Consecutive requests run together, up to the largest batch
  // size. States begin anew with a sequence, also if its first request is refused.
  void Execute(TRITONBACKEND_Request** requests, uint32_t count);

 private:
  struct Job;
  struct Free {
    void operator()(std::byte* block) const;
  };
  using Block = std::unique_ptr<std::byte, Free>;
  static Block NewBlock(int64_t bytes, int64_t alignment);

  size_t PlanFor(const Job& job) const;
  void Accept(Job& job) const;
  void Run(Job* first, Job* last);
  const void* InputOf(const Job* first, const Job* last, size_t index, const ashlar_tensor& tensor,
                      int64_t rows);
  void Finish(Job& job) const;

  const ServedModel& model_;
  TRITONBACKEND_ModelInstance* const instance_;
  Block arena_;
  std::vector<Block> inputs_, outputs_;  // for the largest plan, if the requests' own buffers
                                         // cannot be used
  std::vector<Session> sessions_;        // by plan
};

}  // namespace ashlar::triton

#endif  // ASHLAR_LIBRARY_TRITON_INSTANCE_H_
