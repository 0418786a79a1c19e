// Tells whether a heap allocation is made by Ashlar itself or by a library.
#ifndef ASHLAR_RUNTIME_DEVICE_ALLOCATION_ORIGIN_H_
#define ASHLAR_RUNTIME_DEVICE_ALLOCATION_ORIGIN_H_

namespace ashlar {

// The activity of the calling thread; a counter of allocations reads it.
enum class AllocationOrigin {
  kOther,    // not inside a run
  kOwn,      // inside Session::Run
  kLibrary,  // inside a library that a kernel called
};

AllocationOrigin CurrentOrigin();

// Sets the origin for its scope. Costs one thread-local store.
class OriginScope {
 public:
  explicit OriginScope(AllocationOrigin origin);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  AllocationOrigin previous_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_ALLOCATION_ORIGIN_H_
