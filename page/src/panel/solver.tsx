// For those who came for solvers: which one, its budget and ω, what is compared, what the steps did. Closed at first.

import { RANGES } from "../messages";
import { compareWith } from "./actions";
import { Section, Select, Slider } from "./fields";
import { fixed, sentence } from "./format";
import { GhostSection } from "./ghost";
import { PlotSection } from "./plots/section";
import { ReadoutSection } from "./readouts";
import { change, choice, has, rigid, settings, solvers } from "./settings";
import { TimeStep } from "./world";

function Relaxation({ told }: { told: number }) {
  const [least, most] = RANGES.relaxation;
  const usual = choice.value?.relaxation ?? null;
  return (
    <Slider
      id="relaxation"
      label="Relaxation ω"
      told={told}
      min={least}
      max={choice.value?.most_relaxation ?? most}
      step={0.01}
      text={(value) => [fixed(value, 2), ""]}
      ask={(value) => change("relaxation", value)}
      mark={usual ?? undefined}
      aside={
        <button
          type="button"
          id="relaxation_default"
          class="quiet small"
          disabled={usual === null || usual === told}
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

function Solvers() {
  const now = settings.value;
  if (!now) return null;
  const options = solvers.value.map((one) => ({ value: one.name, text: one.name }));
  const other = solvers.value.find((one) => one.name === now.compare);
  return (
    <>
      <Select
        id="solver"
        label={rigid.value ? "Contact solver" : "Solver"}
        told={now.solver}
        options={options}
        hint={sentence(choice.value?.summary ?? "")}
        ask={(value) => change("solver", value)}
      />
      {now.iterations === null ? <Budget told={now.budget_ms} /> : <Iterations told={now.iterations} />}
      {has("relaxation") && now.relaxation !== null && <Relaxation told={now.relaxation} />}
      <TimeStep />
      {has("compare") && (
        <Select
          id="compare"
          label="Compare with"
          told={now.compare}
          options={[{ value: "", text: "off" }, ...options]}
          hint={now.compare ? sentence(other?.summary ?? "") : undefined}
          ask={compareWith}
        />
      )}
    </>
  );
}

export function SolverSection() {
  return (
    <Section id="solving" title="Solver and measurements" closed>
      <Solvers />
      <ReadoutSection />
      {!rigid.value && <GhostSection />}
      <PlotSection />
    </Section>
  );
}
