#include "runtime/device/device_library.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// Returns the folder of the running program's file, with the slash; "" if unknown.
std::string ProgramFolder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(path))) return "";
  return FolderOf(std::string(path, static_cast<size_t>(length)));
}

// Returns the folder of the file that contains this code: a program, or a library that another
// program loaded.
std::string OwnFolder() {
  Dl_info own, program;
  const auto* const here = reinterpret_cast<const void*>(&ProgramFolder);
  const auto* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));  // the program's
  if (dladdr(here, &own) == 0 || own.dli_fname == nullptr) return ProgramFolder();
  const bool is_program = dladdr(headers, &program) != 0 && program.dli_fbase == own.dli_fbase;
  return is_program ? ProgramFolder() : FolderOf(own.dli_fname);
}

// Returns the first place that has the file; otherwise the bare name, for the system's search.
std::string Locate(const std::string& file) {
  const std::string directory = OwnFolder();
  for (const std::string& path :
       {absl::StrCat(directory, file), absl::StrCat(directory, "../lib/", file)}) {
    if (!directory.empty() && access(path.c_str(), R_OK) == 0) return path;
  }
  return file;
}

// Loads a library. Libraries stay open until the program ends, because devices live forever.
absl::StatusOr<const DeviceLibrary*> Load(const std::string& file) {
  const std::string path = Locate(file);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("the library of this kind of device was not opened (", dlerror(),
                     "); build it from Ashlar's sources, and put it next to the program or the "
                     "library, or into the search path of libraries"));
  }
  const auto* library = static_cast<const DeviceLibrary*>(dlsym(handle, kDeviceLibrarySymbol));
  if (library == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(path, " has no ", kDeviceLibrarySymbol, ": it is not a library of Ashlar's"));
  }
  if (absl::string_view(library->build) != kDeviceLibraryBuild) {
    return absl::UnavailableError(absl::StrCat(path, " is of build '", library->build,
                                               "', and this program of '", kDeviceLibraryBuild,
                                               "': build both together"));
  }
  return library;
}

}  // namespace

void RegisterDeviceLibrary(CompNode::Type type, std::string file) {
  RegisterDeviceType(type, [file](const CompNode& comp_node) -> absl::StatusOr<Device*> {
    static auto* const loaded = new std::map<std::string, absl::StatusOr<const DeviceLibrary*>>();
    auto it = loaded->find(file);
    if (it == loaded->end()) it = loaded->emplace(file, Load(file)).first;
    if (!it->second.ok()) {
      return Annotate(it->second.status(), absl::StrCat("device ", comp_node.ToString()));
    }
    return (*it->second)->open(comp_node);
  });
}

}  // namespace ashlar
