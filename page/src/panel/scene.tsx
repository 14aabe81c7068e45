// What is simulated and by what: scene, solver, the other half of a split view, ω and the budget.

import { RANGES } from "../messages";
import { hello, scene, send, state } from "../store";
import { compareWith } from "./actions";
import { Select, Slider } from "./fields";
import { fixed, sentence } from "./format";
import { change, choice, rigid, settings, solvers } from "./settings";

function Scenes() {
  const scenes = hello.value?.scenes ?? [];
  const name = state.value?.scene ?? "";
  const summary = scenes.find((one) => one.name === name)?.summary ?? "";
  const size = scene.value?.name === name ? scene.value.summary : "";
  return (
    <Select
      id="scene"
      label="Scene"
      told={name}
      options={scenes.map((one) => ({ value: one.name, text: one.name }))}
      hint={[sentence(summary), sentence(size)].filter(Boolean).join(" ")}
      ask={(value) => send({ type: "load_scene", name: value })}
    />
  );
}

function Relaxation() {
  const now = settings.value;
  if (!now) return null;
  const [least, most] = RANGES.relaxation;
  const usual = choice.value?.relaxation ?? null;
  const fixedByItself = now.relaxation === null;
  return (
    <Slider
      id="relaxation"
      label="Relaxation ω"
      told={now.relaxation ?? usual ?? 1}
      min={least}
      max={choice.value?.most_relaxation ?? most}
      step={0.01}
      disabled={fixedByItself}
      text={(value) => [fixedByItself ? "–" : fixed(value, 2), ""]}
      hint={fixedByItself ? `${now.solver} has no ω to set.` : undefined}
      ask={(value) => change("relaxation", value)}
      mark={fixedByItself ? undefined : (usual ?? undefined)}
      aside={
        <button
          type="button"
          id="relaxation_default"
          class="quiet small"
          disabled={fixedByItself || usual === null || usual === now.relaxation}
          onClick={() => usual !== null && change("relaxation", usual)}
        >
          Default<span class="visually-hidden"> relaxation</span>
        </button>
      }
    />
  );
}

function Budget({ told }: { told: number }) {
  const [least, most] = RANGES.budget_ms;
  return (
    <Slider
      id="budget_ms"
      label="Budget per step"
      told={told}
      min={least}
      max={most}
      step={0.5}
      text={(value) => [fixed(value, 1), "ms"]}
      ask={(value) => change("budget_ms", value)}
    />
  );
}

function Iterations({ told }: { told: number }) {
  const [least, most] = RANGES.iterations;
  return (
    <Slider
      id="iterations"
      label="Iterations per substep"
      told={told}
      min={least}
      max={most}
      step={1}
      text={(value) => [fixed(value, 0), ""]}
      hint="With few of them, what is stacked sinks into each other."
      ask={(value) => change("iterations", value)}
    />
  );
}

/** First in the panel and always open: these are what the page is for. */
export function SimulationSection() {
  const now = settings.value;
  if (!now) return null;
  const options = solvers.value.map((one) => ({ value: one.name, text: one.name }));
  const other = solvers.value.find((one) => one.name === now.compare);
  return (
    <section class="section" aria-labelledby="simulation-title">
      <h2 id="simulation-title" class="visually-hidden">
        Scene and solver
      </h2>
      <div class="section-body first">
        <Scenes />
        <Select
          id="solver"
          label={rigid.value ? "Contact solver" : "Solver"}
          told={now.solver}
          options={options}
          hint={sentence(choice.value?.summary ?? "")}
          ask={(value) => change("solver", value)}
        />
        {!rigid.value && (
          <Select
            id="compare"
            label="Compare with"
            told={now.compare}
            options={[{ value: "", text: "off" }, ...options]}
            hint={now.compare ? sentence(other?.summary ?? "") : undefined}
            ask={compareWith}
          />
        )}
        {now.iterations === null ? <Budget told={now.budget_ms} /> : <Iterations told={now.iterations} />}
        {!rigid.value && <Relaxation />}
      </div>
    </section>
  );
}
