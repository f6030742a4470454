// The parts of Apply, by what they change. Internal to core.
#pragma once

#include "core/state_rep.h"

namespace muster::core {

void ApplyFact(StateRep& rep, const ControllerStarted& fact);
void ApplyFact(StateRep& rep, const ControllerStopped& fact);
void ApplyFact(StateRep& rep, const JobAccepted& fact);
void ApplyFact(StateRep& rep, const JobCancelRequested& fact);
void ApplyFact(StateRep& rep, const JobEnded& fact);
void ApplyFact(StateRep& rep, const JobArchived& fact);
void ApplyFact(StateRep& rep, const AttemptsPlanned& fact);
void ApplyFact(StateRep& rep, const AttemptStarted& fact);
void ApplyFact(StateRep& rep, const AttemptRecalled& fact);
void ApplyFact(StateRep& rep, const AttemptDropped& fact);
void ApplyFact(StateRep& rep, const AttemptStopping& fact);
void ApplyFact(StateRep& rep, const AttemptEnded& fact);
void ApplyFact(StateRep& rep, const RetryPlanned& fact);
void ApplyFact(StateRep& rep, const RetryDue& fact);
void ApplyFact(StateRep& rep, const TasksEnded& fact);
void ApplyFact(StateRep& rep, const LaunchPlanned& fact);
void ApplyFact(StateRep& rep, const LaunchSent& fact);
void ApplyFact(StateRep& rep, const LaunchObserved& fact);
void ApplyFact(StateRep& rep, const LaunchStopping& fact);
void ApplyFact(StateRep& rep, const LaunchEnded& fact);
void ApplyFact(StateRep& rep, const ExecutorRegistered& fact);
void ApplyFact(StateRep& rep, const ExecutorDraining& fact);
void ApplyFact(StateRep& rep, const ExecutorGone& fact);

// The state of the table for a code of the column.
TaskNode NodeOfCode(uint8_t code, const SpecState& spec);
// Gives the tasks this code and keeps every count.
void SetCodes(Job& job, uint32_t spec, uint32_t first, uint32_t count, uint8_t code);
// Takes a task out of everything after a fact that did not fit; it waits as Held for a cancel.
void SetAside(StateRep& rep, Job& job, uint32_t task, const std::string& what);

// Room on executors. Attach puts an attempt on its executor: it takes room if there is any and nobody
// waits there, else it waits its turn.
void Attach(StateRep& rep, uint32_t slot);
void Detach(StateRep& rep, uint32_t slot);
// It runs, whatever we thought of the room.
void TakeRoom(StateRep& rep, uint32_t slot);

}  // namespace muster::core
