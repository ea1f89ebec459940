import { expect, it } from 'vitest'
import { cividis, colourAt } from './palette'

it('mixes the colours of a scale between its stops, and stays within its ends', () => {
  expect(colourAt(cividis, 0.125)).toBe('#0b3272')
  expect(
    colourAt(
      [
        [0, '#000000'],
        [1, '#ffffff'],
      ],
      0.5,
    ),
  ).toBe('#808080')
  expect(colourAt(cividis, -1)).toBe('#00224e')
  expect(colourAt(cividis, 2)).toBe('#fee838')
})
