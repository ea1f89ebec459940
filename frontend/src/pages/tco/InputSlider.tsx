import type { InputRange } from '../../api/_generated/schema'
import { valueAt } from '../../lib/tco/scenarioSpec'
import { SliderInput } from '../../ui/inputs/SliderInput'
import { groundingOf, inputOf, sliderOf, valueOf } from './tcoInputs'
import type { ScenarioState } from './useScenario'

interface InputSliderProps {
  state: ScenarioState
  range: InputRange
  /** Position of the option that the range is of, where it is of one. */
  option: number
}

/** One input of the scenario; nothing where the scenario has no such part. */
export function InputSlider({ state, range, option }: InputSliderProps) {
  const { spec, base, inputs } = state
  if (spec === undefined) return null
  const currency = String(valueAt(spec, 'currency') ?? '')
  const slider = sliderOf(range, option, currency)
  const value = valueOf(spec, slider.path, inputs)
  if (value === null) return null
  const { path, factor } = slider
  const whole = path.endsWith('.value') ? path.slice(0, -'.value'.length) : path
  const differs = JSON.stringify(valueAt(base, whole) ?? null) !== JSON.stringify(valueAt(spec, whole) ?? null)
  const inScenario = (shown: number) => Number((shown / factor).toPrecision(12))
  return (
    <SliderInput
      label={slider.label}
      unit={slider.unit}
      value={Number((value * factor).toPrecision(12))}
      low={slider.low}
      high={slider.high}
      step={slider.step}
      floor={slider.floor}
      ceiling={slider.ceiling}
      decimals={slider.decimals}
      grounding={groundingOf(slider, inputOf(path, inputs))}
      changed={differs}
      onReset={() => state.reset(whole)}
      onMove={(shown) => state.move(path, inScenario(shown))}
      onSettle={(shown) => state.settle(path, inScenario(shown))}
    />
  )
}
