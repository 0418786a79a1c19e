// Objects and arenas that serve one thread at a time: a second thread is refused.
#ifndef ASHLAR_LIBRARY_C_EXCLUSIVE_USE_H_
#define ASHLAR_LIBRARY_C_EXCLUSIVE_USE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar::c {

// The right to use an object and the caller's arena that it runs in. Sessions may share an arena,
// so entering one of them also refuses the others. A mark that was set when the process forked does
// not count in the child, because the thread that set it is not there.
class ExclusiveUse {
 public:
  // `object` is a literal that names the object in errors: "session".
  explicit ExclusiveUse(absl::string_view object) : ExclusiveUse(object, nullptr, 0) {}
  // With an arena of `bytes`; 0 means none.
  ExclusiveUse(absl::string_view object, const void* arena, int64_t bytes);
  ~ExclusiveUse();
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

  // Calls body(), which returns an absl::Status, or returns an error of ASHLAR_BUSY if another
  // thread is inside. Takes nothing from the heap unless it fails.
  template <typename Body>
  absl::Status Enter(const Body& body) {
    absl::Status status = Take();
    if (!status.ok()) return status;
    const Leaving leaving{*this};  // body may throw
    return body();
  }

 private:
  using Mark =
      // 0: nobody is inside; otherwise the number of the process inside, counted by forks.
      std::atomic<uint32_t>;
  struct Leaving {
    ExclusiveUse& use;
    ~Leaving() { use.Leave(use.marks_.size()); }
  };
  absl::Status Take();
  void Leave(size_t marks);  // the first marks

  const absl::string_view object_;
  // The object's own mark, and the marks of earlier objects with an overlapping arena. Later
  // objects hold this one's mark.
  std::vector<std::shared_ptr<Mark>> marks_;
};

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_EXCLUSIVE_USE_H_
