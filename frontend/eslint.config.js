import js from '@eslint/js'
import reactHooks from 'eslint-plugin-react-hooks'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

const noPlotly = {
    group: ['plotly.js', 'plotly.js/*'],
    allowTypeImports: true,
    message: 'Only charts/plotlyBundle.ts imports plotly.js, so that it stays one lazy chunk. Use charts/Plot.tsx.',
}
const noPages = { group: ['**/pages/**'], message: 'Pages import the other rooms, never the other way round.' }
const noCharts = { group: ['**/charts/**'], message: 'This room must not draw charts; move the chart to a page.' }
const noUi = { group: ['**/ui/**'], message: 'This room is pure; move what needs a component up.' }
const noQueries = {
    group: ['**/api/queries/**', '**/api/client'],
    message: 'Data is fetched in pages and passed down as props.',
}
const noApiTypes = { group: ['**/api/**'], message: 'lib and ui know nothing of the API; take plain values.' }
const noQueryRuntime = {
    group: ['@tanstack/react-query', 'openapi-fetch'],
    message: 'Only pages and api/queries fetch; take the data as a prop.',
}
const noRouter = {
    group: ['@tanstack/react-router'],
    message: 'Only pages know routes; take a callback or a link as a prop.',
}
const noReact = {
    group: ['react', 'react-dom', 'react/*', '@mantine/*', '@tabler/*'],
    message: 'This file is pure: data in, data out.',
}
/** Outside of the file's own district: the folder that is this many levels above it, and back down. */
const outside = (levels, message) => ({ regex: `^(\\.\\./){${levels}}(?!\\.\\./)`, message })
const noDistrict = outside(1, 'This district is the ground that others stand on; it imports none of them.')
const noTables = {
    group: ['../tables/**'],
    message: 'Tables are built from the other districts, never the other way round.',
}
const onlyBase = {
    regex: '^\\.\\./(?!base/|\\.\\./)',
    message: 'Queries of one district know no other one; what all of them need is in base.',
}
const noOtherPage = (levels) => outside(levels, 'Every page stands in the shell, so that the shell knows none of them.')
const noMockApi = { group: ['**/mock-api/**'], message: 'The mock API serves component specs only.' }

/** The import rules of one room: every listed group is refused with its reason. */
const room = (files, ...patterns) => ({
    files,
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns: [noPlotly, noMockApi, ...patterns] }] },
})

const lib = [noPages, noCharts, noUi, noApiTypes, noQueryRuntime, noRouter, noReact]
const ui = [noPages, noCharts, noApiTypes, noQueryRuntime, noRouter]
const api = [noPages, noCharts, noUi, noRouter]

export default defineConfig([
    globalIgnores(['dist', '**/_generated']),
    {
        files: ['**/*.{ts,tsx}'],
        extends: [js.configs.recommended, tseslint.configs.strict, reactHooks.configs.flat.recommended],
        rules: {
            'max-lines': ['error', { max: 300 }],
            'no-restricted-syntax': [
                'error',
                {
                    selector: 'ExportAllDeclaration',
                    message: 'No barrel files: import from the file that defines the name.',
                },
            ],
            '@typescript-eslint/consistent-type-imports': 'error',
        },
    },
    {
        files: ['src/**/*.{ts,tsx}'],
        rules: {
            'no-restricted-exports': [
                'error',
                { restrictDefaultExports: { direct: true, named: true, defaultFrom: true } },
            ],
        },
    },
    room(['src/**/*.{ts,tsx}']),
    room(['src/lib/**/*.{ts,tsx}'], ...lib),
    room(['src/lib/{export,text,units}/*.{ts,tsx}'], ...lib, noDistrict),
    room(['src/ui/**/*.{ts,tsx}'], ...ui, noTables),
    room(['src/ui/tables/*.{ts,tsx}'], ...ui),
    room(['src/ui/{export,layout,text,theme}/*.{ts,tsx}'], ...ui, noDistrict),
    room(['src/charts/**/*.{ts,tsx}'], noPages, noQueries, noQueryRuntime, noRouter),
    room(['src/charts/*/*figure.ts'], noPages, noQueries, noUi, noQueryRuntime, noRouter, noReact),
    room(['src/api/**/*.{ts,tsx}'], ...api),
    room(['src/api/queries/*/*.{ts,tsx}'], ...api, onlyBase),
    room(['src/pages/shell/*.{ts,tsx}'], noOtherPage(1)),
    room(['src/pages/shell/*/*.{ts,tsx}'], noOtherPage(2)),
    {
        files: ['src/charts/plotlyBundle.ts', 'src/mock-api/**/*.{ts,tsx}', 'src/**/*.spec.{ts,tsx}'],
        rules: { '@typescript-eslint/no-restricted-imports': 'off' },
    },
])
