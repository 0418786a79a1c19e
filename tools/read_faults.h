// Handles SIGBUS, with which the system answers reads of a mapped file whose disk reports an error,
// or that was shortened.
#ifndef ASHLAR_TOOLS_READ_FAULTS_H_
#define ASHLAR_TOOLS_READ_FAULTS_H_

#include <string>

namespace ashlar {

// From now on such a read ends the process with an error that names the file, and the exit code of
// rejected files. A SIGBUS for another reason is handled as before.
void ExitOnReadFaults();

// A document that such an error is also written as: JSON text before and after the message, which
// is escaped, and the file that it goes to ("-": standard output).
struct ReadFaultDocument {
  std::string before, after, file;
};

// Sets the document of errors from now on; null: none. It must outlive the next call.
void SetReadFaultDocument(const ReadFaultDocument* document);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_READ_FAULTS_H_
