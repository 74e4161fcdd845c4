/* faro: bandits that learn from people without learning about any of them. All public headers. */
#ifndef FARO_FARO_H
#define FARO_FARO_H

#include <faro/agent.h>
#include <faro/asker.h>
#include <faro/audit.h>
#include <faro/base.h>
#include <faro/client.h>
#include <faro/contribution.h>
#include <faro/design.h>
#include <faro/doubling.h>
#include <faro/eliminator.h>
#include <faro/env.h>
#include <faro/estimator.h>
#include <faro/evaluate.h>
#include <faro/gate.h>
#include <faro/glm.h>
#include <faro/learner.h>
#include <faro/linalg.h>
#include <faro/message.h>
#include <faro/plan.h>
#include <faro/policy.h>
#include <faro/privacy.h>
#include <faro/random.h>
#include <faro/release.h>
#include <faro/report.h>
#include <faro/rounds.h>
#include <faro/rows.h>
#include <faro/selector.h>
#include <faro/setting.h>
#include <faro/shard.h>
#include <faro/sim.h>
#include <faro/statistics.h>
#include <faro/study.h>
#include <faro/updater.h>
#include <faro/watcher.h>
#include <faro/world.h>

#endif
