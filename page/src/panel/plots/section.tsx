import { Section } from "../fields";
import { ResidualPlot } from "./residual";
import { StagePlot } from "./stages";

export function PlotSection() {
  return (
    <Section id="plots" title="Plots">
      <ResidualPlot />
      <StagePlot />
    </Section>
  );
}
