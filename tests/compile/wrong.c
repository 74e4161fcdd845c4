/* wrong: calls that must not compile, as C and as C++. Without any of the cases the file compiles:
 * it has the right calls. tests/compile/check defines the cases one by one and expects an error
 * inside the #ifdef of each. */
#include <faro/faro.h>

typedef struct handles {
  faro_updater *updater;
  faro_estimator *estimator;
  faro_eliminator *eliminator;
  faro_asker *asker;
  faro_watcher *watcher;
  faro_agent *agent;
  faro_selector *selector;
  faro_release *release;
  faro_doubling *doubling;
  faro_gate *gate;
  faro_study *study;
  faro_secure_rng *secure;
  faro_sim_rng sim;
} handles;

faro_status create(handles *h, const faro_contribution *contribution, const faro_release_params *params,
                   faro_error *error);
faro_status use(handles *h, const faro_arms *arms, const double *x);

faro_status create(handles *h, const faro_contribution *contribution, const faro_release_params *params,
                   faro_error *error) {
  const faro_updater_params updater = {};
  const faro_asker_params asker = {};
  const faro_study_params study = {};
  const faro_learner_kind *learner = faro_learner_at(0);
  const faro_release_kind *kind = &faro_release_local;
  const faro_source client = faro_source_client(h->secure);
  const faro_source simulated = faro_source_simulated(&h->sim);
  faro_status status = faro_release_create(&h->release, kind, contribution, params, client, error);
  status = faro_doubling_create(&h->doubling, kind, contribution, params, simulated, error);
  status = faro_updater_create(&h->updater, learner, &updater, error);
  status = faro_asker_create(&h->asker, learner, &asker, error);
  status = faro_study_create(&h->study, kind, &study, &h->sim, error);

#ifdef RELEASE_WITHOUT_SOURCE
  status = faro_release_create(&h->release, kind, contribution, params, error);
#endif
#ifdef RELEASE_OF_A_USE
  status = faro_release_create(&h->release, kind, contribution, params, FARO_USE_SIMULATED, error);
#endif
#ifdef RELEASE_OF_A_STREAM
  status = faro_release_create(&h->release, kind, contribution, params, &h->sim, error);
#endif
#ifdef RELEASE_OF_A_LEARNER
  status = faro_release_create(&h->release, learner, contribution, params, client, error);
#endif
#ifdef RELEASE_THAT_IS_A_DOUBLING
  status = faro_release_create(&h->doubling, kind, contribution, params, client, error);
#endif
#ifdef RELEASE_WHOSE_FAULTS_NOBODY_SEES
  faro_release_create(&h->release, kind, contribution, params, client, error);
#endif
#ifdef CLIENT_WITH_A_SIMULATED_STREAM
  status = faro_release_create(&h->release, kind, contribution, params, faro_source_client(&h->sim), error);
#endif
#ifdef SERVER_WITH_A_SIMULATED_STREAM
  status = faro_release_create(&h->release, kind, contribution, params, faro_source_server(&h->sim), error);
#endif
#ifdef SUM_WITH_A_SIMULATED_STREAM
  status =
      faro_release_create(&h->release, kind, contribution, params, faro_source_all_parties(&h->sim), error);
#endif
#ifdef CLIENT_WITH_THE_FACE_OF_A_STREAM
  status =
      faro_release_create(&h->release, kind, contribution, params, faro_source_client(&h->sim.rng), error);
#endif
#ifdef SIMULATION_WITH_A_SECURE_STREAM
  status =
      faro_release_create(&h->release, kind, contribution, params, faro_source_simulated(h->secure), error);
#endif
#ifdef STUDY_WITH_A_SECURE_STREAM
  status = faro_study_create(&h->study, kind, &study, h->secure, error);
#endif
#ifdef STUDY_WITH_A_SOURCE
  status = faro_study_create(&h->study, kind, &study, simulated, error);
#endif
#ifdef UPDATER_OF_A_RELEASE
  status = faro_updater_create(&h->updater, kind, &updater, error);
#endif
#ifdef UPDATER_THAT_IS_AN_ESTIMATOR
  status = faro_updater_create(&h->estimator, learner, &updater, error);
#endif
#ifdef UPDATER_WITH_AN_ASKERS_PARAMETERS
  status = faro_updater_create(&h->updater, learner, &asker, error);
#endif
#ifdef ELIMINATOR_WITH_AN_UPDATERS_PARAMETERS
  status = faro_eliminator_create(&h->eliminator, learner, &updater, error);
#endif
#ifdef WATCHER_THAT_IS_AN_ASKER
  status = faro_watcher_create(&h->asker, learner, &asker, error);
#endif
  return status;
}

faro_status use(handles *h, const faro_arms *arms, const double *x) {
  const faro_statistics now = faro_release_statistics(h->release);
  const faro_policy *policy = faro_updater_policy(h->updater);
  const faro_plan *plan = NULL;
  faro_updater_update(h->updater, &now);
  faro_estimator_update(h->estimator, &now);
  faro_status status = faro_eliminator_plan(h->eliminator, &plan, NULL);
  (void)faro_asker_pick(h->asker, arms, 0.5);
  faro_watcher_observe(h->watcher, x, 1);
  (void)faro_select(h->selector, policy, arms, &h->sim.rng);
  (void)faro_release_absorb(h->release, x, 1);
  (void)faro_doubling_absorb(h->doubling, x, 1);

#ifdef UPDATER_PLANS
  status = faro_eliminator_plan(h->updater, &plan, NULL);
#endif
#ifdef UPDATER_OBSERVES
  faro_watcher_observe(h->updater, x, 1);
#endif
#ifdef UPDATER_ESTIMATES
  (void)faro_estimator_at(h->updater, 3);
#endif
#ifdef ESTIMATOR_HAS_A_POLICY
  (void)faro_updater_policy(h->estimator);
#endif
#ifdef ELIMINATOR_UPDATES
  faro_updater_update(h->eliminator, &now);
#endif
#ifdef ASKER_OBSERVES
  faro_watcher_observe(h->asker, x, 1);
#endif
#ifdef WATCHER_ASKS
  faro_question question;
  (void)faro_asker_ask(h->watcher, &question);
#endif
#ifdef WATCHER_SEES_SUMS
  faro_asker_see(h->watcher, &now);
#endif
#ifdef AGENT_UPDATES
  faro_updater_update(h->agent, &now);
#endif
#ifdef UPDATER_LEARNS
  status = faro_agent_learn(h->updater, x, 1, NULL);
#endif
#ifdef POLICY_THAT_IS_CHANGED
  faro_updater_policy(h->updater)->beta = 0;
#endif
#ifdef POLICY_WITHOUT_CONST
  faro_policy *own = faro_updater_policy(h->updater);
  own->beta = 0;
#endif
#ifdef SELECTION_WITH_A_WHOLE_STREAM
  (void)faro_select(h->selector, policy, arms, &h->sim);
#endif
#ifdef SELECTION_WITH_A_SECURE_STREAM
  (void)faro_select(h->selector, policy, arms, h->secure);
#endif
#ifdef SELECTION_BY_A_LEARNER
  (void)faro_select(h->selector, h->updater, arms, NULL);
#endif
#ifdef RELEASE_DOUBLES
  (void)faro_doubling_absorb(h->release, x, 1);
#endif
#ifdef DOUBLING_ABSORBS_AS_A_RELEASE
  (void)faro_release_absorb(h->doubling, x, 1);
#endif
#ifdef DOUBLING_LENDS_ITS_RELEASE
  (void)faro_release_absorb(faro_doubling_release(h->doubling), x, 1);
#endif
#ifdef AGENT_LENDS_ITS_RELEASE
  (void)faro_release_absorb(faro_agent_release(h->agent), x, 1);
#endif
#ifdef RELEASE_THAT_IS_A_GATE
  status = faro_gate_admit(h->release, 1, 0, NULL);
#endif
#ifdef STUDY_ABSORBS
  (void)faro_release_absorb(h->study, x, 1);
#endif
#ifdef STATISTICS_THAT_ARE_CHANGED
  now.sum[0] = 0;
#endif
  return status;
}
