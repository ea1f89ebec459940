import { getRouteApi } from '@tanstack/react-router'
import type { RatioChoice } from '../../api/queries/ratio'
import { readDevice, writeDevice } from '../../lib/url/deviceUrl'

const route = getRouteApi('/services/$serviceId')

/** What the URL asks of the ratio advice; one choice for all tabs, so that curve and advice agree. */
export function useRatioChoice() {
  const { loss, holdHot, growth = 0, device } = route.useSearch()
  const navigate = route.useNavigate()
  const choice: RatioChoice = { loss, holdHot: holdHot === 'on', growth, device: readDevice(device) }
  const choose = (next: Partial<RatioChoice>) => {
    const wanted = { ...choice, ...next }
    void navigate({
      search: (before) => ({
        ...before,
        loss: wanted.loss,
        holdHot: wanted.holdHot ? 'on' : undefined,
        growth: wanted.growth === 0 ? undefined : wanted.growth,
        device: writeDevice(wanted.device),
      }),
      replace: true,
      resetScroll: false,
    })
  }
  return { choice, choose }
}
