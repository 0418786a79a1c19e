#include "tests/emulated_gpu/emulation.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>

namespace ashlar::emulated {
namespace {

class TheControl final : public Control {
 public:
  TheControl() {
    const char* const text = std::getenv("EMULATED_GPU");
    std::istringstream settings(text == nullptr ? "" : text);
    for (std::string setting; std::getline(settings, setting, ',');) Apply(setting);
  }

  Machine& machine() override { return machine_; }
  void Fail(const std::string& function, int64_t call) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    fails_ = function;
    calls_left_ = call;
  }
  void DieAt(const std::string& function, int64_t error) override {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    deadly_ = function;
    deadly_error_ = error;
  }
  bool failed() const override { return calls_left_ == 0; }
  std::map<std::string, int64_t> calls() const override { return calls_; }
  std::map<std::string, int64_t> live() const override { return live_; }
  std::vector<std::string> misuses() const override { return misuses_; }
  void ForgetMisuses() override { misuses_.clear(); }

  bool Count(const std::string& function) {
    ++calls_[function];
    if (function == deadly_) {
      machine_.dead_of = deadly_error_;
      deadly_.clear();
    }
    return calls_left_ > 0 && function == fails_ && --calls_left_ == 0;
  }
  void CountObject(const std::string& kind, int64_t change) {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    if ((live_[kind] += change) == 0) live_.erase(kind);
  }
  void AddMisuse(std::string what) {
    // For tests of commands, which read their output.
    std::fprintf(stderr, "emulated GPU: misuse: %s\n", what.c_str());
    misuses_.push_back(std::move(what));
  }

  std::recursive_mutex mutex;
  std::multiset<const void*> in_use;

 private:
  void Apply(const std::string& setting) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    const int64_t value = equals == std::string::npos ? 0 : std::atoll(&setting[equals + 1]);
    const std::map<std::string, int64_t*> places = {
        {"driver", &machine_.driver},         {"devices", &machine_.devices},
        {"capability", &machine_.capability}, {"memory", &machine_.memory},
        {"others", &machine_.others},         {"whole_images", &machine_.whole_images},
        {"unfused", &machine_.unfused},       {"keeps", &machine_.keeps},
        {"dies_of", &machine_.dies_of},       {"order", &machine_.order}};
    const auto place = places.find(name);
    if (place == places.end()) {
      std::fprintf(stderr, "emulated GPU: no setting '%s'\n", name.c_str());
      std::abort();
    }
    *place->second = value;
  }

  Machine machine_;
  std::string fails_;
  int64_t calls_left_ = -1;
  std::string deadly_;
  int64_t deadly_error_ = 0;
  std::map<std::string, int64_t> calls_, live_;
  std::vector<std::string> misuses_;
};

TheControl& Get() {
  static auto* const control = new TheControl();
  return *control;
}

}  // namespace

const Machine& TheMachine() { return Get().machine(); }

bool BeginWork() {
  Machine& machine = Get().machine();
  if (machine.dies_of != 0) machine.dead_of = machine.dies_of;
  return machine.dead_of == 0;
}

void NoteMisuse(const std::string& what) { Get().AddMisuse(what); }

Call::Call(const char* function)
    : lock_(Get().mutex),
      function_(function),
      fails_(Get().Count(function) || TheMachine().dead_of != 0) {}

void Call::Misuse(const std::string& what) const {
  Get().AddMisuse(std::string(function_) + ": " + what);
}

Exclusive::Exclusive(const char* function, const void* object) : object_(object) {
  if (object == nullptr) return;
  {
    const std::lock_guard<std::recursive_mutex> lock(Get().mutex);
    if (Get().in_use.count(object) > 0) {
      Get().AddMisuse(std::string(function) + ": two threads use one object at once");
    }
    Get().in_use.insert(object);
  }
  std::this_thread::yield();  // lets other threads run
}
Exclusive::~Exclusive() {
  if (object_ == nullptr) return;
  const std::lock_guard<std::recursive_mutex> lock(Get().mutex);
  Get().in_use.erase(Get().in_use.find(object_));
}

Counted::Counted(const char* kind) : kind_(kind) { Get().CountObject(kind_, 1); }
Counted::~Counted() { Get().CountObject(kind_, -1); }

}  // namespace ashlar::emulated

extern "C" __attribute__((visibility("default"))) ashlar::emulated::Control*
emulated_gpu_control() {
  return &ashlar::emulated::Get();
}
