from tests.surface import main

main()
