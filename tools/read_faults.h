// Handles SIGBUS, with which the system answers reads of a mapped file whose disk reports an error,
// or that was shortened.
#ifndef ASHLAR_TOOLS_READ_FAULTS_H_
#define ASHLAR_TOOLS_READ_FAULTS_H_

namespace ashlar {

// From now on such a read ends the process with an error that names the file, and the exit code of
// rejected files. A SIGBUS for another reason is handled as before.
void ExitOnReadFaults();

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_READ_FAULTS_H_
